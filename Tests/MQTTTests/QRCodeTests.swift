import QRCode
import Testing

@Suite("QR code")
struct QRCodeTests {
    @Test("has the three corner patterns and a quiet zone")
    func corners() throws {
        let code = try QRCode(text: "https://authority.example/claim#v=1")
        #expect(code.size >= 21 && (code.size - 17) % 4 == 0)
        for (x, y) in [(0, 0), (code.size - 7, 0), (0, code.size - 7)] {
            #expect((0..<7).allSatisfy { code[x + $0, y] && code[x, y + $0] })
            #expect(!code[x + 1, y + 1] && code[x + 3, y + 3])
        }
        #expect(!code[-1, 0] && !code[0, code.size])
    }

    @Test("is drawn two rows a line", arguments: [false, true])
    func terminal(isLight: Bool) throws {
        let code = try QRCode(text: "x")
        let lines = code.terminalText(lightTerminal: isLight).split(separator: "\n")
        #expect(lines.count == (code.size + 9) / 2)
        #expect(lines.allSatisfy { $0.count == code.size + 8 })
        #expect(lines.first?.allSatisfy { $0 == (isLight ? " " : "█") } == true)
    }

    @Test("is refused for what does not fit")
    func tooLong() throws {
        #expect(throws: QRCode.Failure.tooLong) {
            try QRCode(text: String(repeating: "x", count: 2332))
        }
        #expect(throws: QRCode.Failure.hasNUL) { try QRCode(text: "a\0b") }
        _ = try QRCode(text: String(repeating: "x", count: 2331))
        _ = try QRCode(text: String(repeating: "ü", count: 1000))
    }
}
