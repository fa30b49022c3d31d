import ConfigurationFiles
import Testing

/// `store`, `[postgres]` and `master_key_file`.
@Suite("Settings of the store")
struct StoreSettingTests {
    private func parse(
        _ text: String, _ variables: [String: String] = [:]
    ) throws(SettingsError) -> AuthoritySettings {
        try AuthoritySettings.parse(text, file: "test.toml") { variables[$0] }
    }

    private func place(_ text: String) throws -> PostgresPlace? {
        guard case .postgres(let place) = try parse(text).store else { return nil }
        return place
    }

    @Test("are a file beside its key unless told otherwise")
    func file() throws {
        #expect(try parse("").store == .file)
        #expect(try parse("").masterKeyFile == nil)
    }

    @Test("name a database of PostgreSQL, whichever way it writes its address", arguments: [
        "postgres://postern@db.example:5433/postern?sslmode=verify-full",
        "postgresql:///postern", "postgres://%2Fvar%2Frun%2Fpostgresql/postern",
        "postgres://postern@[::1]/postern", "postgres://a.example,b.example/postern",
    ])
    func address(uri: String) throws {
        let place = try #require(try place("store = \"\(uri)\""))
        #expect(place.uri == uri)
        #expect(place.connections == PostgresPlace.usualConnections)
        #expect(place.passwordFile == nil && !place.insecure)
    }

    @Test("say how it is reached")
    func options() throws {
        let text = """
            store = "postgres://postern@db.example/postern"
            master_key_file = "/etc/postern/master.key"
            [postgres]
            password_file = "/etc/postern/database.password"
            connections = 40
            insecure = true
            """
        let place = try #require(try place(text))
        #expect(place.passwordFile == "/etc/postern/database.password")
        #expect(place.connections == 40 && place.insecure)
        #expect(try parse(text).masterKeyFile == "/etc/postern/master.key")
    }

    @Test("may come from the environment")
    func environment() throws {
        let settings = try parse("", [
            "POSTERN_STORE": "postgres:///postern", "POSTERN_POSTGRES_INSECURE": "true",
            "POSTERN_MASTER_KEY_FILE": "credential:authority.key",
            "POSTERN_POSTGRES_CONNECTIONS": "24",
        ])
        guard case .postgres(let place) = settings.store else {
            Issue.record("\(settings.store)")
            return
        }
        #expect(place.insecure && place.connections == 24)
        #expect(settings.masterKeyFile == "credential:authority.key")
    }

    @Test("take the number of connections from the environment before the file's")
    func override() throws {
        let text = "store = \"postgres:///d\"\n[postgres]\nconnections = 4"
        let settings = try parse(text, ["POSTERN_POSTGRES_CONNECTIONS": "40"])
        #expect(settings.store == .postgres(PostgresPlace(
            uri: "postgres:///d", passwordFile: nil, connections: 40, insecure: false)))
    }

    @Test("have nothing to say of a database that is not named")
    func without() {
        #expect(throws: SettingsError.self) { try parse("[postgres]\nconnections = 4") }
    }

    static let faults: [Fault] = [
        Fault("store = \"mysql://a/b\"", line: 1, column: 9, "postgres://user@host"),
        Fault("store = \"postgres://a b\"", line: 1, column: 9, "postgres://user@host"),
        Fault("store = \"postgres://u:secret@h/d\"", line: 1, column: 9, "no password here"),
        Fault("store = \"postgres://h/d?password=secret\"", line: 1, column: 9,
            "no password here"),
        Fault("store = \"postgres:///d\"\n[postgres]\nconnections = 1", line: 3, column: 15, ""),
        Fault("store = \"postgres:///d\"\n[postgres]\nconnections = 201", line: 3, column: 15, ""),
        Fault("store = \"postgres:///d\"\n[postgres]\npassword_file = \"p\"", line: 3, column: 17,
            "is not an absolute path"),
        Fault("store = \"postgres:///d\"\n[postgres]\npassword = \"p\"", line: 3, column: 1,
            "unknown key \"postgres.password\""),
        Fault("POSTERN_POSTGRES_CONNECTIONS", "1", in: "store = \"postgres:///d\"", "from 2"),
        Fault("POSTERN_POSTGRES_CONNECTIONS", "201", in: "store = \"postgres:///d\"", "to 200"),
        Fault("POSTERN_POSTGRES_CONNECTIONS", "many", in: "store = \"postgres:///d\"",
            "must be a whole number"),
        Fault("POSTERN_POSTGRES_CONNECTIONS", "+4", in: "store = \"postgres:///d\"",
            "must be a whole number"),
        Fault("master_key_file = \"master.key\"", line: 1, column: 19, "is not an absolute path"),
        Fault("master_key_file = \"credential:\"", line: 1, column: 19, "credential:NAME"),
        Fault("master_key_file = \"credential:../a\"", line: 1, column: 19, "credential:NAME"),
        Fault("master_key_file = \"credential:a/b\"", line: 1, column: 19, "credential:NAME"),
    ]

    @Test("name the fault and its place, and never a password", arguments: faults)
    func fault(_ fault: Fault) {
        let error = #expect(throws: SettingsError.self) {
            try parse(fault.text, fault.variables)
        }
        #expect(fault.stands(at: error), "\(String(describing: error))")
        #expect(error?.message.contains(fault.says) == true, "\(String(describing: error))")
        #expect(error?.message.contains("secret") == false)
    }
}
