/// A configuration file that was read, and the variables that win over it.
struct TOMLDocument {
    let file: String
    /// Overrides of single values; a policy has none.
    let environment: (String) -> String?
    private let table: TOMLTable

    /// Reads a text of at most 1 MiB. A syntax error carries its place.
    init(
        _ text: String, file: String, environment: @escaping (String) -> String?
    ) throws(SettingsError) {
        table = try TOMLReader.table(of: text, file: file)
        self.file = file
        self.environment = environment
    }

    var root: TOMLSection {
        TOMLSection(document: self, path: [], place: nil, entries: table.entries)
    }
}
