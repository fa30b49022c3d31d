/// Where an authority keeps its records.
package enum StorePlace: Equatable, Sendable {
    /// A file in the state folder.
    case file
    case postgres(PostgresPlace)

    /// Reads `store` and `[postgres]`. `[postgres]` without a PostgreSQL store is an error.
    init(_ root: TOMLSection) throws(SettingsError) {
        let section = try root.section("postgres")
        let passwordFile = try section.value("password_file", SettingValue.absolutePath)
        let connections = try section.count("connections", within: 2...200)
        let insecure = try section.flag("insecure")
        if let uri = try root.value("store", PostgresPlace.uri) {
            self = .postgres(PostgresPlace(
                uri: uri, passwordFile: passwordFile,
                connections: connections ?? PostgresPlace.usualConnections,
                insecure: insecure ?? false))
            return
        }
        guard passwordFile == nil, connections == nil, insecure == nil else {
            throw root.fault("store", "is missing: [postgres] needs \"postgres://…\"")
        }
        self = .file
    }
}

/// A PostgreSQL database, and how to connect to it.
package struct PostgresPlace: Equatable, Sendable {
    /// libpq's connection URI, without a password. Source: PostgreSQL, 34.1.1.2.
    package let uri: String
    /// The file's first line is the password. Nil: libpq finds it (`PGPASSFILE`, `~/.pgpass`).
    package let passwordFile: String?
    /// The largest number of open connections for transactions.
    package let connections: Int
    /// Whether plain text to other machines is allowed.
    package let insecure: Bool

    package static let usualConnections = 16

    package init(uri: String, passwordFile: String?, connections: Int, insecure: Bool) {
        self.uri = uri
        self.passwordFile = passwordFile
        self.connections = connections
        self.insecure = insecure
    }

    fileprivate static func uri(_ text: String) throws(SettingFault) -> String {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: text.hasPrefix), text.utf8.count <= 2048,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw SettingFault("postgres://user@host:port/database")
        }
        let rest = text.dropFirst(scheme.count)
        let place = rest.prefix { $0 != "/" && $0 != "?" }
        let user = place.contains("@") ? place.prefix { $0 != "@" } : ""
        let query = rest.drop { $0 != "?" }.dropFirst()
        let names = query.split(separator: "&").map { $0.prefix { $0 != "=" } }
        // Every user of this machine may be able to read this file.
        guard !user.contains(":"), !names.contains("password") else {
            throw SettingFault("no password here: use [postgres] password_file, or PGPASSFILE")
        }
        return text
    }
}
