/// Reads a configuration's TOML.
///
/// The subset has strings, whole numbers and fractions in decimal, booleans, arrays, tables, arrays
/// of tables, inline tables and comments. Dates, times, `inf`, `nan` and numbers in hex, octal or
/// binary are errors, because no setting takes them. NUL is an error, because a C function that
/// receives a setting would stop there. The time is linear in the text.
///
/// Source: TOML 1.0.0.
struct TOMLReader {
    /// One part of a dotted key, and where it begins.
    struct KeyPart {
        let name: String
        let place: SourcePlace
    }

    /// The largest text, in bytes. A real configuration is much smaller.
    static let longest = 1_048_576
    /// How deep tables and arrays may nest. It bounds the recursion.
    static let deepest = 100

    let file: String
    let bytes: [UInt8]
    private(set) var position = 0
    private var line = 1
    /// The column of the byte at `counted`, which is at most `position`.
    private var column = 1
    private var counted = 0

    /// Reads a whole document of at most 1 MiB. A syntax error carries its place.
    static func table(of text: String, file: String) throws(SettingsError) -> TOMLTable {
        guard text.utf8.count <= longest else {
            throw SettingsError(file: file, message: "the file is larger than 1 MiB")
        }
        var reader = TOMLReader(text, file: file)
        return try reader.document()
    }

    private init(_ text: String, file: String) {
        self.file = file
        bytes = Array(text.utf8)
    }

    private mutating func document() throws(SettingsError) -> TOMLTable {
        let root = TOMLTable(.header, at: nil)
        var table = root
        while try skipToStatement() {
            if next == UInt8(ascii: "[") {
                table = try header(under: root)
            } else {
                try keyAndValue(into: table, depth: 0)
            }
            try endLine()
        }
        return root
    }

    /// Reads `[a.b]` or `[[a.b]]`, and returns the table that the next lines fill.
    private mutating func header(under root: TOMLTable) throws(SettingsError) -> TOMLTable {
        let start = place()
        advance()
        let isElement = take("[")
        var parts = try key()
        guard take("]"), !isElement || take("]") else {
            throw fault("a header ends with \(isElement ? "]]" : "]")")
        }
        let last = parts.removeLast()
        var table = root
        for part in parts {
            guard let inner = table.passage(part) else {
                throw fault("\(part.name) is already a value, not a table", at: part.place)
            }
            table = inner
        }
        let opened = isElement ? table.element(last, at: start) : table.headed(last, at: start)
        guard let opened else {
            throw fault("\(last.name) is already defined", at: last.place)
        }
        return opened
    }

    /// Reads `a.b = value`.
    mutating func keyAndValue(into table: TOMLTable, depth: Int) throws(SettingsError) {
        var parts = try key()
        guard take("=") else { throw fault("a key is followed by = and a value") }
        skipSpace()
        let last = parts.removeLast()
        var table = table
        for part in parts {
            guard let inner = table.dotted(part) else {
                throw fault("\(part.name) is already defined, and complete", at: part.place)
            }
            table = inner
        }
        let node = TOMLNode(place: place(), value: try value(depth: depth + parts.count))
        guard table.set(last, node) else {
            throw fault("\(last.name) is already defined", at: last.place)
        }
    }
}

// Bytes and places.
extension TOMLReader {
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    func next(is text: StaticString) -> Bool {
        bytes[position...].starts(with: text.description.utf8)
    }

    mutating func advance(by count: Int = 1) { position = min(position + count, bytes.count) }

    /// Skips `text` and returns true if it is next.
    mutating func take(_ text: StaticString) -> Bool {
        guard next(is: text) else { return false }
        advance(by: text.utf8CodeUnitCount)
        return true
    }

    /// The place of the next byte.
    mutating func place() -> SourcePlace {
        while counted < position {
            // Each UTF-8 character has exactly one byte that is no continuation byte.
            if bytes[counted] & 0xC0 != 0x80 { column += 1 }
            counted += 1
        }
        return SourcePlace(line: line, column: column)
    }

    mutating func fault(_ sentence: String) -> SettingsError { fault(sentence, at: place()) }

    func fault(_ sentence: String, at place: SourcePlace) -> SettingsError {
        SettingsError(file: file, place, sentence)
    }

    mutating func skipSpace() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { advance() }
    }

    /// Skips a line end and returns true if one is next.
    mutating func takeLineEnd() -> Bool {
        guard take("\n") || take("\r\n") else { return false }
        line += 1
        column = 1
        counted = position
        return true
    }

    /// Skips blanks, comments and line ends. False at the end of the text.
    mutating func skipToStatement() throws(SettingsError) -> Bool {
        repeat {
            skipSpace()
            try skipComment()
        } while takeLineEnd()
        return next != nil
    }

    /// Reads the end of a line. Only a comment may follow a value.
    private mutating func endLine() throws(SettingsError) {
        skipSpace()
        try skipComment()
        guard next == nil || takeLineEnd() else {
            throw fault("a line has one key and its value, and nothing after it except a comment")
        }
    }

    private mutating func skipComment() throws(SettingsError) {
        guard next == UInt8(ascii: "#") else { return }
        while let byte = next, byte != UInt8(ascii: "\n"), !next(is: "\r\n") {
            try refuseControl(byte)
            advance()
        }
    }

    /// Throws for a character that strings and comments must not contain. Source: TOML 1.0.0,
    /// Comment.
    mutating func refuseControl(_ byte: UInt8) throws(SettingsError) {
        if byte == 0 { throw fault("a configuration must not contain NUL") }
        guard byte == UInt8(ascii: "\t") || byte >= 0x20 && byte != 0x7F else {
            throw fault("write a control character as an escape, such as \\u001B")
        }
    }
}
