import Foundation
import FreePorts
import PostgresServers
import Sessions
import Testing

@testable import PostgreSQLClient

/// A server with TLS, for the tests of the way there.
private let secured = Task {
    try await PostgresServer(settings: [
        "ssl = on", "ssl_cert_file = 'FOLDER/server.pem'", "ssl_key_file = 'FOLDER/server.key'",
    ]) { try TestCertificates.make(in: $0) }
}

@Suite("PostgreSQL login")
struct LoginTests {
    private let server: PostgresServer

    init() async throws {
        server = try await secured.value
    }

    private func connect(
        _ uri: String, password: String? = PostgresServer.password
    ) throws -> PostgresConnection {
        let address = try PostgresAddress(
            uri: uri, password: password.map { SecretBytes($0.utf8) })
        return try PostgresConnection(address)
    }

    private func refusal(
        _ uri: String, password: String? = PostgresServer.password
    ) throws -> (layer: PostgresError.Layer, text: String, isConfigured: Bool) {
        do {
            _ = try connect(uri, password: password)
        } catch PostgresError.unreachable(let layer, let text) {
            return (layer, text, false)
        } catch PostgresError.turnedAway(let layer, let text) {
            return (layer, text, true)
        }
        throw NotRefused()
    }

    private struct NotRefused: Error {}

    private func verified(_ host: String, _ authority: String) -> String {
        server.tcpURI(
            host: host, options: "sslmode=verify-full&sslrootcert=\(server.folder)/\(authority)")
    }

    @Test("goes through with the right password and the right name in the certificate")
    func verifies() throws {
        let connection = try connect(verified("localhost", "ca.pem"))
        let rows = try connection.query("""
            SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()
            """)
        #expect(rows.first?["ssl"] == .bool(true))
        #expect(rows.first?["version"] == .text("TLSv1.3"))
    }

    @Test("stops at TLS for another authority, and for another name")
    func stopsAtTLS() throws {
        let stranger = try refusal(verified("localhost", "other.pem"))
        #expect(stranger.layer == .tls && stranger.text.contains("certificate verify failed"))
        #expect(stranger.isConfigured)
        let name = try refusal(verified("127.0.0.1", "ca.pem"))
        #expect(name.layer == .tls && name.text.contains("does not match host name"))
        #expect(name.isConfigured)
    }

    @Test("stops at TLS where the server has none")
    func noTLS() async throws {
        let plain = try await PostgresServer.shared()
        let answer = try refusal(plain.tcpURI(options: "sslmode=require"))
        #expect(answer.layer == .tls && answer.isConfigured)
    }

    @Test("names the layer that failed, and no secret", arguments: [
        (.login, "postgres", "wrong hunter2"), (.login, "postgres", nil),
        (.database, "no-such-database", PostgresServer.password),
    ] as [(PostgresError.Layer, String, String?)])
    func layers(layer: PostgresError.Layer, database: String, password: String?) throws {
        let answer = try refusal(server.tcpURI(database), password: password)
        #expect(answer.layer == layer && answer.isConfigured, "\(answer.text)")
        #expect(!answer.text.contains("hunter2") && !answer.text.contains("LOCATION"))
        let text = PostgresError.unreachable(answer.layer, answer.text).text
        #expect(text.contains("(\(layer.rawValue))"))
    }

    @Test("says that a name is unknown, a port closed, a socket absent")
    func unreached() throws {
        let port = try FreePort.next()
        let closed = try refusal("postgres://u@127.0.0.1:\(port)/a")
        #expect(closed.layer == .tcp && !closed.isConfigured)
        #expect(try refusal("postgres://u@/a?host=/nowhere").layer == .socket)
        let name = "postgres://u@no-such-host.invalid/a"
        #expect(try refusal(name).layer == .nameLookup)
    }

    @Test("is given up where somebody takes the connection and says nothing, and blames no TLS",
          .timeLimit(.minutes(1)), arguments: ["prefer", "require", "disable"])
    func silence(mode: String) throws {
        let listener = try SilentListener()
        var limits = PostgresLimits.usual
        limits.connect = .seconds(1)
        let address = try PostgresAddress(
            uri: "postgres://u@127.0.0.1:\(listener.port)/a?sslmode=\(mode)", password: nil)
        let error = #expect(throws: PostgresError.self) {
            _ = try PostgresConnection(address, limits: limits)
        }
        guard case .unreachable(.database, let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("no answer in 1 s"))
        #expect(error?.text.contains("sslrootcert") == false)
    }

    @Test("may be tried again where the server goes away in the middle of it",
          arguments: [("require", "S"), ("disable", "")])
    func hungUp(mode: String, answer: String) throws {
        let server = try HangingUpServer(answer: Array(answer.utf8))
        let found = try refusal("postgres://u@127.0.0.1:\(server.port)/a?sslmode=\(mode)")
        #expect(!found.isConfigured, "\(found.text)")
    }

    @Test("is not tried again where libpq refuses the server's answer")
    func refused() throws {
        let server = try HangingUpServer(answer: Array("HTTP/1.1 400\r\n\r\n".utf8))
        let found = try refusal("postgres://u@127.0.0.1:\(server.port)/a?sslmode=disable")
        #expect(found.layer == .login && found.isConfigured, "\(found.text)")
    }

    @Test("goes on to the next host where one says nothing", .timeLimit(.minutes(1)))
    func nextHost() async throws {
        let plain = try await PostgresServer.shared()
        let listener = try SilentListener()
        var limits = PostgresLimits.usual
        limits.connect = .seconds(1)
        let address = try PostgresAddress(
            uri: "postgres://\(PostgresServer.user)@127.0.0.1:\(listener.port),"
                + "127.0.0.1:\(plain.port)/postgres",
            password: SecretBytes(PostgresServer.password.utf8))
        let connection = try PostgresConnection(address, limits: limits)
        #expect(try connection.query("SELECT true AS yes").first?["yes"] == .bool(true))
    }

    @Test("reads what libpq says of a failure", arguments: [
        ("connection to server at \"h\" (192.0.2.1), port 5432 failed: "
            + "FATAL:  28P01: password authentication failed for user \"u\"\n"
            + "LOCATION:  auth_failed, auth.c:326\n", "28P01",
         "password authentication failed for user \"u\""),
        ("connection to server at \"h\", port 5432 failed: Connection refused\n"
            + "\tIs the server running on that host and accepting TCP/IP connections?\n", nil,
         "connection to server at \"h\", port 5432 failed: Connection refused"),
        ("Verbindung zu \u{201E}h\u{201C}: FATAL:  57P03: das Datenbanksystem startet\n", "57P03",
         "das Datenbanksystem startet"),
        ("", nil, "no reason given"),
        ("one: FATAL:  not a state: x", nil, "one: FATAL:  not a state: x"),
    ])
    func report(words: String, state: String?, text: String) {
        let report = LoginReport(words)
        #expect(report.state?.code == state)
        #expect(report.text == text)
    }
}
