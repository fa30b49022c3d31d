import ConfigurationFiles
import Foundation
import Testing

@Suite("Hostile text")
struct HostileTextTests {
    private static let pieces = [
        "[", "[[", "]", "]]", "{", "}", "=", ".", "\"", "'", "\"\"\"", "'''", "#", "\n", "\r\n",
        " ", "\t", ",", "\\", "\\u", "\\U0010FFFF", "\\x41", "0x", "0b1", "_", "+", "-", "1",
        "e", "inf", "nan", "true", "t", "1979-05-27", "07:32", ".5", "z", "\u{E9}", "\u{FEFF}",
        "\u{7F}", "\u{1}", "\u{A0}", "\u{2028}", "\r", "rule", "[rule]", "[[rule]]", "= {",
    ]

    @Test("nested beyond any configuration is refused by its place", arguments: [
        "[K]\n", "K = 1\n", "x = 1\n[[K]]\n",
    ])
    func deep(form: String) {
        let key = Array(repeating: "a", count: 100_000).joined(separator: ".")
        let text = form.replacingOccurrences(of: "K", with: key)
        let error = #expect(throws: SettingsError.self) {
            try PolicyFile.parse(text, file: "p")
        }
        #expect(error?.message.contains("nested deeper than 100 levels") == true)
        #expect(error?.line == (form.hasPrefix("x") ? 2 : 1))
    }

    @Test("is read or refused, and ends no process", arguments: 1...8)
    func survives(seed: UInt64) {
        var random = Numbers(state: seed)
        for _ in 0..<400 {
            let whole = Array((Samples.policy + "\n" + Samples.agent).unicodeScalars)
            var text = random.next(below: 3) == 0 ? [] : whole
            if random.next(below: 2) == 0, !text.isEmpty {
                text = Array(text.dropFirst(random.next(below: text.count)).prefix(80))
            }
            for _ in 0...random.next(below: 6) {
                let place = random.next(below: text.count + 1)
                if random.next(below: 3) > 0 {
                    let piece = Self.pieces[random.next(below: Self.pieces.count)]
                    text.insert(contentsOf: piece.unicodeScalars, at: place)
                } else {
                    text.removeSubrange(place..<min(place + 5, text.count))
                }
            }
            var view = String.UnicodeScalarView()
            view.append(contentsOf: text)
            do throws(SettingsError) {
                _ = try PolicyFile.parse(String(view), file: "p")
            } catch {
                #expect(!error.message.isEmpty)
            }
        }
    }
}

/// The same numbers for the same seed. Source: Marsaglia, Xorshift RNGs (2003).
private struct Numbers {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 33) % bound
    }
}
