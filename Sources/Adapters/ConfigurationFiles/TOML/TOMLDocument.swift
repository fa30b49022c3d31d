/// A parsed configuration file, and the variables that override it.
struct TOMLDocument {
    let file: String
    /// The variables that override single values. A policy has none.
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
