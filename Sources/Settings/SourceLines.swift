/// The lines on which a TOML document's keys and headers stand.
///
/// TOMLKit gives no positions of what it parsed, so the text is read for them beforehand. The
/// scan goes forward on anything, and notes what the parser underneath TOMLKit (toml++ 3) does
/// not refuse but asserts on, which would end the process.
struct SourceLines {
    /// Where the first mention of a path stands. An element of an array of tables is `#n`.
    private(set) var lines: [[String]: Int] = [:]
    /// How many headers an array of tables has.
    private(set) var headers: [[String]: Int] = [:]

    /// The first place that must not reach the parser.
    private(set) var fault: Fault?

    struct Fault: Equatable {
        let line: Int
        let column: Int
        let sentence: String
    }

    let bytes: [UInt8]
    var position = 0
    private(set) var line = 1
    private var lineStart = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
        var table: [String] = []
        while let byte = skipBlank() {
            let start = line
            if byte == UInt8(ascii: "[") {
                table = header()
                note(table, start)
                skipValue()
            } else {
                note(resolved(key(), under: table), start)
                skipValue()
            }
        }
    }

    /// The line of a path, or of the nearest table around it that has one.
    subscript(path: [String]) -> Int? {
        var path = path
        while !path.isEmpty {
            if let line = lines[path] { return line }
            path.removeLast()
        }
        return nil
    }

    private mutating func note(_ path: [String], _ line: Int) {
        if lines[path] == nil { lines[path] = line }
    }

    /// Notes a place that must not reach the parser; the first one counts.
    mutating func refuse(_ sentence: String) {
        guard fault == nil else { return }
        fault = Fault(line: line, column: position - lineStart + 1, sentence: sentence)
    }

    var next: UInt8? { bytes.indices.contains(position) ? bytes[position] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Goes to the next statement and gives its first byte; nil at the end.
    private mutating func skipBlank() -> UInt8? {
        while let byte = next {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            case UInt8(ascii: "\n"):
                takeLineBreak()
                continue
            case UInt8(ascii: "#"):
                skipComment()
                continue
            default: return byte
            }
            position += 1
        }
        return nil
    }

    mutating func skipComment() {
        while let byte = next, byte != UInt8(ascii: "\n") { position += 1 }
    }

    mutating func takeLineBreak() {
        position += 1
        line += 1
        lineStart = position
    }

    private mutating func header() -> [String] {
        _ = take(UInt8(ascii: "["))
        let isArray = take(UInt8(ascii: "["))
        skipSpace()
        if !(next.map { Self.isBare($0) || "\"']".utf8.contains($0) } ?? true) {
            refuse("a header begins with a name")
        }
        let path = key()
        while take(UInt8(ascii: "]")) {}
        guard isArray, let last = path.last else { return resolved(path, under: []) }
        let array = resolved(path.dropLast(), under: []) + [last]
        let index = headers[array] ?? 0
        headers[array] = index + 1
        return array + ["#\(index)"]
    }

    /// A path in which each array of tables is followed by its latest element.
    private func resolved(_ path: [String], under table: [String]) -> [String] {
        var result = table
        for part in path {
            result.append(part)
            if let count = headers[result] { result.append("#\(count - 1)") }
        }
        return result
    }

    /// A dotted key. Quoted parts stand as written: no key of ours needs an escape.
    private mutating func key() -> [String] {
        var parts: [String] = []
        repeat {
            skipSpace()
            let start = position
            if let byte = next, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                skipString(byte)
                parts.append(text(start + 1, position - 1))
            } else {
                while let byte = next, Self.isBare(byte) { position += 1 }
                parts.append(text(start, position))
            }
            skipSpace()
        } while take(UInt8(ascii: "."))
        return parts
    }

    private func text(_ start: Int, _ end: Int) -> String {
        guard start < end, start >= 0, end <= bytes.count else { return "" }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func skipSpace() {
        while take(UInt8(ascii: " ")) || take(UInt8(ascii: "\t")) {}
    }

    /// Goes behind a string. Source: TOML 1.0.0, String.
    mutating func skipString(_ quote: UInt8) {
        let isLong = bytes[position...].starts(with: [quote, quote, quote])
        let end = [UInt8](repeating: quote, count: isLong ? 3 : 1)
        position += end.count
        while let byte = next {
            if bytes[position...].starts(with: end) {
                position += end.count
                // A long string may end in one or two quotes of its own.
                if isLong, take(quote) { _ = take(quote) }
                return
            }
            if byte == UInt8(ascii: "\n") {
                if !isLong { return }
                takeLineBreak()
                continue
            }
            let isEscape = quote == UInt8(ascii: "\"") && byte == UInt8(ascii: "\\")
            position += 1
            if isEscape, let escaped = next, escaped != UInt8(ascii: "\n") { position += 1 }
        }
    }

    static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
