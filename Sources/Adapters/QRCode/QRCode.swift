import CQREncode

/// A text as a QR code: a square of dark and light modules.
///
/// Error correction is level M (15 %), which phones read from a terminal without trouble.
/// The corresponding C function is `QRcode_encodeString8bit`. Source: ISO/IEC 18004.
package struct QRCode: Equatable, Sendable {
    /// Why there is no code: the text has more than 2,331 bytes, it contains NUL, or encoding
    /// failed.
    package enum Failure: Error, Equatable, Sendable {
        case tooLong
        case hasNUL
        case failed
    }

    /// The modules on one side, from 21 to 177, without the quiet zone.
    package let size: Int
    private let modules: [Bool]

    package init(text: String) throws(Failure) {
        guard text.utf8.count <= 2_331 else { throw .tooLong }
        guard !text.utf8.contains(0) else { throw .hasNUL }
        guard let code = unsafe QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else {
            throw .failed
        }
        defer { unsafe QRcode_free(code) }
        let side = unsafe Int(code.pointee.width)
        guard let data = unsafe code.pointee.data, side > 0 else { throw .failed }
        size = side
        // The lowest bit of each byte is the module. The other bits describe its function.
        modules = unsafe UnsafeBufferPointer(start: data, count: side * side).map { $0 & 1 == 1 }
    }

    /// Whether the module is dark. Everything outside the square is light.
    package subscript(x: Int, y: Int) -> Bool {
        guard (0..<size).contains(x), (0..<size).contains(y) else { return false }
        return modules[y * size + x]
    }

    /// The light border that readers need, in modules. Source: ISO/IEC 18004 §6.3.8.
    private static let quietZone = 4

    /// Half-block characters with the quiet zone, two rows of modules a line. Ends with a newline.
    ///
    /// By default, for a dark terminal, the characters draw the light modules. With `lightTerminal`
    /// they draw the dark modules. Most readers accept both.
    package func terminalText(lightTerminal: Bool = false) -> String {
        let range = -Self.quietZone..<(size + Self.quietZone)
        var text = ""
        for y in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            for x in range {
                let upper = self[x, y] == lightTerminal
                let lower = y + 1 < range.upperBound && self[x, y + 1] == lightTerminal
                text += Self.block(upper: upper, lower: lower)
            }
            text += "\n"
        }
        return text
    }

    private static func block(upper: Bool, lower: Bool) -> String {
        switch (upper, lower) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
    }
}
