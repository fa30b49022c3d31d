/// The page that a board's QR code opens if the console has no files. It explains how to claim with
/// the command line.
///
/// The claim itself is after the `#`, which the browser does not send. The page runs no script.
struct ClaimPage: Sendable {
    /// Nothing may be loaded, run, sent or framed. Source: W3C Content Security Policy 3.
    static let policy =
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// The authority's address, for the command line.
    let authority: String

    var html: String {
        let url = Self.escaped(authority)
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Claim a board</title>
            </head>
            <body>
            <main>
            <h1>Claim a board</h1>
            <p>You opened a board's claim. It can be used once. Any person who has the whole address
            of this page can claim the board, so do not show it to others.</p>
            <ol>
            <li>Copy the whole address of this page, including the part after the # sign.</li>
            <li>On the administrator's machine, log in:
            <pre><code>postern login \(url)</code></pre></li>
            <li>Claim the board, and paste the address when the command waits for it:
            <pre><code>postern --authority \(url) claim -</code></pre></li>
            </ol>
            <p>The command shows each step: sealed and sent, opened by the board, session
            available.</p>
            </main>
            </body>
            </html>

            """
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.append(character)
            }
        }
        return result
    }
}
