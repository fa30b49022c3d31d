/// Where an authority's records stand.
package enum StorePlace: Equatable, Sendable {
    /// In a file of the state folder.
    case file
    case postgres(PostgresPlace)

    /// `store` and `[postgres]`, which goes with no other store.
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
            throw root.fault("store", "is missing: [postgres] goes with \"postgres://…\"")
        }
        self = .file
    }
}

/// A database of PostgreSQL and how it is reached.
package struct PostgresPlace: Equatable, Sendable {
    /// libpq's connection URI, without a password. Source: PostgreSQL, 34.1.1.2.
    package let uri: String
    /// Its first line is the password; nil leaves it to libpq (`PGPASSFILE`, `~/.pgpass`).
    package let passwordFile: String?
    /// The most connections that are open at once for transactions.
    package let connections: Int
    /// Whether plain text may leave this machine.
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
        // This file may be readable to all.
        guard !user.contains(":"), !names.contains("password") else {
            throw SettingFault("no password here: [postgres] password_file, or PGPASSFILE")
        }
        return text
    }
}
