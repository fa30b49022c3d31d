import TOMLKit

/// A parsed configuration file, and what its errors need to name the place.
struct TOMLDocument {
    let file: String
    let places: SourcePlaces
    /// Overrides of single values; a policy has none.
    let environment: (String) -> String?
    private let entries: [String: TOMLNode]

    /// No configuration of ours comes near it.
    static let longest = 1_048_576

    /// Parses a text of at most 1 MiB. A syntax error carries its place.
    ///
    /// Source: TOML 1.0.0.
    init(
        _ text: String, file: String, environment: @escaping (String) -> String?
    ) throws(SettingsError) {
        guard text.utf8.count <= Self.longest else {
            throw SettingsError(file: file, message: "the file is larger than 1 MiB")
        }
        try Self.refuseNUL(in: text, file: file)
        places = SourcePlaces(text)
        if let fault = places.fault { throw SettingsError(file: file, fault.place, fault.sentence) }
        let table: TOMLTable
        do {
            table = try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            let place = error.source.begin
            throw SettingsError(
                file: file, line: place.line, column: place.column, message: error.description)
        } catch {
            throw SettingsError(file: file, message: "not TOML: \(error)")
        }
        guard let entries = TOMLNode.entries(of: table) else {
            throw SettingsError(file: file, message: "a key of the file cannot be read back")
        }
        self.file = file
        self.environment = environment
        self.entries = entries
    }

    var root: TOMLSection { TOMLSection(document: self, path: [], entries: entries) }

    /// The parser underneath is given a C string and gives C strings back: what follows a NUL
    /// would be cut off in silence.
    private static func refuseNUL(in text: String, file: String) throws(SettingsError) {
        let escapes = ["\\u0000", "\\U00000000"].map { Array($0.utf8) }
        let bytes = Array(text.utf8)
        for (position, byte) in bytes.enumerated() {
            guard byte == 0 || byte == UInt8(ascii: "\\"),
                byte == 0 || escapes.contains(where: { bytes[position...].starts(with: $0) })
            else { continue }
            let place = SourcePlace(endOf: bytes[..<position])
            throw SettingsError(file: file, place, "a configuration holds no NUL")
        }
    }
}

extension SettingsError {
    init(file: String, _ place: SourcePlace?, _ message: String) {
        self.init(file: file, line: place?.line, column: place?.column, message: message)
    }

    /// The text of a file's bytes.
    ///
    /// Throws at the first character that is not UTF-8.
    package static func text(of bytes: [UInt8], file: String) throws(SettingsError) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var start = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard String(validating: line, as: UTF8.self) == nil else {
                start += line.count + 1
                continue
            }
            let whole = String(decoding: line, as: UTF8.self).unicodeScalars
            let column = whole.prefix { $0 != "\u{FFFD}" }.count + 1
            let place = SourcePlace(endOf: bytes[..<start])
            throw SettingsError(
                file: file, line: place.line, column: column, message: "the file is not UTF-8")
        }
        throw SettingsError(file: file, message: "the file is not UTF-8")
    }
}
