/// Where something stands in a text.
struct SourcePlace: Equatable, Sendable {
    /// From 1.
    let line: Int
    /// From 1, in characters (Unicode code points; a tab is one), as the TOML parser counts.
    let column: Int

    init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// The place behind a text.
    init(endOf text: ArraySlice<UInt8>) {
        let start = text.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.startIndex
        line = 1 + text.count { $0 == UInt8(ascii: "\n") }
        // A character of UTF-8 has one byte that does not continue another.
        column = 1 + text[start...].count { $0 & 0xC0 != 0x80 }
    }
}

/// The places at which a TOML document's keys, values and headers stand.
///
/// TOMLKit gives no positions of what it parsed, so the text is read for them beforehand. The
/// scan goes forward on anything, and notes what the parser underneath TOMLKit (toml++ 3) does
/// not refuse but asserts on, which would end the process.
struct SourcePlaces {
    /// Where the first mention of a path stands. An element of an array is `#n`.
    private var keys: [[String]: SourcePlace] = [:]
    /// Where the value of a path begins; that of a table under a header is the header.
    private var values: [[String]: SourcePlace] = [:]
    /// How many headers an array of tables has.
    private(set) var headers: [[String]: Int] = [:]

    /// The first place that must not reach the parser.
    private(set) var fault: Fault?

    struct Fault: Equatable {
        let place: SourcePlace
        let sentence: String
    }

    let bytes: [UInt8]
    var position = 0
    private var line = 1
    /// The column of the byte at `counted`, which is never behind `position`.
    private var column = 1
    private var counted = 0
    /// How many parts of paths are still noted: what is kept of a hostile text is bounded.
    private var room = 1_000_000
    /// Deeper paths are not noted; no configuration of ours has them.
    private static let deepest = 100

    init(_ text: String) {
        bytes = Array(text.utf8)
        var table: [String]? = []
        while let byte = skipBlank() {
            if byte == UInt8(ascii: "[") {
                table = header()
                skipValue(of: nil)
            } else {
                skipValue(of: note(key(), under: table))
            }
        }
    }

    /// Where a path's value begins, or the nearest table around it that has a place.
    func value(_ path: [String]) -> SourcePlace? {
        var path = path
        while !path.isEmpty {
            if let place = values[path] ?? keys[path] { return place }
            path.removeLast()
        }
        return nil
    }

    /// Where a path's name stands, or what `value` says.
    func key(_ path: [String]) -> SourcePlace? { keys[path] ?? value(path) }

    /// The header of an element of an array of tables; nil for what has none.
    func header(_ array: [String], _ index: Int) -> SourcePlace? {
        guard let count = headers[array], index < count else { return nil }
        return values[array + ["#\(index)"]]
    }

    /// Notes a value that begins here; nil is the path of what is not noted.
    mutating func noteValue(of path: [String]?) {
        guard let path, values[path] == nil, hasRoom(for: path) else { return }
        values[path] = place()
    }

    /// Notes each part of a dotted key, and returns the whole path: in it each array of tables
    /// is followed by its latest element.
    mutating func note(_ parts: [KeyPart], under table: [String]?) -> [String]? {
        guard var path = table else { return nil }
        guard path.count + parts.count <= Self.deepest else {
            // The parser underneath takes a table apart by recursion.
            refuse("nested deeper than \(Self.deepest) levels")
            return nil
        }
        for part in parts {
            path.append(part.name)
            if keys[path] == nil, hasRoom(for: path) { keys[path] = part.place }
            if let count = headers[path] { path.append("#\(count - 1)") }
        }
        return path
    }

    private mutating func hasRoom(for path: [String]) -> Bool {
        guard room >= path.count else { return false }
        room -= path.count
        return true
    }

    private mutating func header() -> [String]? {
        let start = place()
        _ = take(UInt8(ascii: "["))
        let isArray = take(UInt8(ascii: "["))
        skipSpace()
        if !(next.map { Self.isBare($0) || "\"']".utf8.contains($0) } ?? true) {
            refuse("a header begins with a name")
        }
        let parts = key()
        while take(UInt8(ascii: "]")) {}
        guard isArray, let last = parts.last else {
            let path = note(parts, under: [])
            if let path, values[path] == nil { values[path] = start }
            return path
        }
        guard let outer = note(parts.dropLast(), under: []) else { return nil }
        let array = outer + [last.name]
        let index = headers[array] ?? 0
        headers[array] = index + 1
        if keys[array] == nil { keys[array] = last.place }
        if values[array] == nil { values[array] = start }
        values[array + ["#\(index)"]] = start
        return array + ["#\(index)"]
    }

    /// Notes a place that must not reach the parser; the first one counts.
    mutating func refuse(_ sentence: String) {
        guard fault == nil else { return }
        fault = Fault(place: place(), sentence: sentence)
    }

    /// Where the next byte stands.
    mutating func place() -> SourcePlace {
        while counted < position, bytes.indices.contains(counted) {
            if bytes[counted] & 0xC0 != 0x80 { column += 1 }
            counted += 1
        }
        return SourcePlace(line: line, column: column)
    }
}

extension SourcePlaces {
    var next: UInt8? { bytes.indices.contains(position) ? bytes[position] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Goes to the next statement and gives its first byte; nil at the end.
    fileprivate mutating func skipBlank() -> UInt8? {
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
        column = 1
        counted = position
    }
}
