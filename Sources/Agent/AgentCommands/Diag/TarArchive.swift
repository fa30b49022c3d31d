import Sessions

/// An archive in the `tar` format.
///
/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
struct TarArchive {
    private static let block = 512

    private(set) var bytes: [UInt8] = []
    private let time: Timestamp

    /// All files get this time.
    init(at time: Timestamp) { self.time = time }

    /// Adds a file of mode 0600. A name has at most 99 bytes.
    mutating func add(_ name: String, _ content: [UInt8]) {
        bytes += header(Array(name.utf8.prefix(99)), count: content.count)
        bytes += content
        pad()
    }

    /// The archive, with two empty blocks at its end.
    func closed() -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: 2 * Self.block)
    }

    private mutating func pad() {
        let rest = bytes.count % Self.block
        if rest > 0 { bytes += [UInt8](repeating: 0, count: Self.block - rest) }
    }

    private func header(_ name: [UInt8], count: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: [UInt8], at offset: Int) {
            header.replaceSubrange(offset..<offset + text.count, with: text)
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(Int64(count), 11), at: 124)
        put(octal(max(0, time.seconds), 11), at: 136)
        put(Array("        ".utf8), at: 148)
        put([UInt8(ascii: "0")], at: 156)
        put(Array("ustar\u{0}00".utf8), at: 257)
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put(octal(sum, 6) + [0, UInt8(ascii: " ")], at: 148)
        return header
    }

    private func octal(_ number: Int64, _ digits: Int) -> [UInt8] {
        let text = String(number, radix: 8)
        return Array((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8)
    }
}
