import TOMLKit

/// A parsed configuration file, and what its errors need to name the place.
struct TOMLDocument {
    let file: String
    let lines: SourceLines
    /// Overrides of single values; a policy has none.
    let environment: (String) -> String?
    private let entries: [String: TOMLNode]

    /// No configuration of ours comes near it.
    static let longest = 1_048_576

    /// Parses a text of at most 1 MiB. A syntax error carries line and column.
    ///
    /// Source: TOML 1.0.0.
    init(
        _ text: String, file: String, environment: @escaping (String) -> String?
    ) throws(SettingsError) {
        guard text.utf8.count <= Self.longest else {
            throw SettingsError(file: file, message: "the file is larger than 1 MiB")
        }
        try Self.refuseNUL(in: text, file: file)
        lines = SourceLines(text)
        if let fault = lines.fault {
            throw SettingsError(
                file: file, line: fault.line, column: fault.column, message: fault.sentence)
        }
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
        var line = 1
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            guard byte != 0, !escapes.contains(where: { rest.starts(with: $0) }) else {
                throw SettingsError(file: file, line: line, message: "a configuration holds no NUL")
            }
            if byte == UInt8(ascii: "\n") { line += 1 }
            rest = rest.dropFirst()
        }
    }
}
