import Cryptography
import Sessions

/// Cuts secrets from text that leaves the board: known values, and text that looks like a secret.
/// It cuts too much rather than too little.
struct SecretCut {
    static let mark = "[cut]"

    /// The kinds of text that were cut, and how often.
    private(set) var counts: [String: Int] = [:]
    /// Each known value in all forms that the text may contain, the longest first.
    private let known: [[UInt8]]

    /// The forms of a known value: raw, hex in either case, base64 and base64url.
    init(knowing secrets: [SecretBytes]) {
        var forms: [[UInt8]] = []
        for secret in secrets {
            let bytes = secret.reveal()
            // Shorter values also occur in ordinary text.
            guard bytes.count >= 4 else { continue }
            let hex = bytes.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
            let url = Base64URL.encode(bytes)
            let plain = String(url.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
            forms += [bytes] + [hex, hex.uppercased(), url, plain].map { Array($0.utf8) }
        }
        known = forms.sorted { $0.count > $1.count }
    }

    /// Returns the text without secrets. NUL bytes are removed, so that UTF-16 text is read as
    /// ASCII.
    mutating func cut(_ bytes: [UInt8]) -> [UInt8] {
        let bytes = cut(knownIn: bytes.filter { $0 != 0 })
        let text = String(decoding: bytes, as: UTF8.self)
        var lines: [Substring] = []
        var isInKey = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.contains("-----BEGIN"), line.contains("PRIVATE KEY") {
                isInKey = true
                note("private key")
                lines.append(Substring(Self.mark))
            }
            if !isInKey { lines.append(Substring(cut(line: line))) }
            if isInKey, line.contains("-----END") { isInKey = false }
        }
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// Returns the text without the known values.
    mutating func cut(knownIn bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for form in known { bytes = replace(form, in: bytes) }
        return bytes
    }

    /// Returns a settings file without secrets. Its comments are cut, too, because people may
    /// write secrets there.
    mutating func cut(settings bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        var isCut = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let start = Self.comment(in: line) else { return line }
            isCut = true
            return line[..<start] + "# " + Self.mark
        }
        if isCut { note("comments") }
        return cut(Array(lines.joined(separator: "\n").utf8))
    }

    /// The start of a line's comment: a number sign outside quotes. In a basic string a backslash
    /// escapes the next character. Source: TOML 1.0, String.
    private static func comment(in line: Substring) -> Substring.Index? {
        var quote: Character?
        var isEscaped = false
        var first: Substring.Index?
        for index in line.indices {
            let character = line[index]
            if isEscaped {
                isEscaped = false
                continue
            }
            if character == "#", first == nil { first = index }
            isEscaped = quote == "\"" && character == "\\"
            if quote == nil, character == "#" { return index }
            if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            }
        }
        // A quote still open at the end of the line is not a one-line string: everything after the
        // first number sign may be a comment.
        return quote == nil ? nil : first
    }

    mutating func note(_ what: String) { counts[what, default: 0] += 1 }

    private mutating func replace(_ form: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        guard let first = form.first, bytes.count >= form.count else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == first, bytes[index...].starts(with: form) {
                note("known secret")
                result += Array(Self.mark.utf8)
                index += form.count
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}
