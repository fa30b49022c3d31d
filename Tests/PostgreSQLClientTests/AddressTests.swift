import Sessions
import Testing

@testable import PostgreSQLClient

@Suite("PostgreSQL address")
struct AddressTests {
    private func parse(_ uri: String, insecure: Bool = false) throws -> PostgresAddress {
        try PostgresAddress(
            uri: uri, password: SecretBytes("hunter2".utf8), insecure: insecure)
    }

    @Test("reads what stays on this machine, or is verified", arguments: [
        "postgres://postern@/authority", "postgresql://postern@/a?host=/run/postgresql",
        "postgres://u@localhost/a", "postgres://u@127.0.0.1:5433/a", "postgres://u@[::1]/a",
        "postgres://u@127.0.0.1/a?sslmode=disable", "postgres://u@db.example/a",
        "postgres://u@db.example/a?sslmode=verify-full", "postgres://u@one,two:5433/a",
        "postgres://u@/a?host=%2Ftmp%2Fx&sslmode=disable",
    ])
    func accepted(uri: String) throws {
        _ = try parse(uri)
    }

    @Test("is not led elsewhere by what the environment says", arguments: [
        ("PGHOSTADDR", true, false), ("PGHOSTADDR", false, true), ("PGSERVICE", false, false),
        ("PGSERVICEFILE", true, false), ("PGHOST", true, true),
    ])
    func environment(name: String, hasHost: Bool, isAccepted: Bool) {
        var error: PostgresError?
        do throws(PostgresError) {
            try PostgresAddress.requirePlain(
                environment: { $0 == name ? "192.0.2.2" : nil }, hasHost: hasHost)
        } catch let refusal {
            error = refusal
        }
        #expect((error == nil) == isAccepted)
        #expect(error?.text.contains("192.0.2.2") != true)
    }

    @Test("refuses what is not, or holds a password, and quotes nothing of it", arguments: [
        ("postgres://u@db.example/a?sslmode=disable", "sslmode=disable"),
        ("postgres://u@db.example/a?sslmode=prefer", "sslmode=prefer"),
        ("postgres://u@db.example/a?sslmode=require", "sslmode=require"),
        ("postgres://u@db.example/a?sslmode=verify-ca", "sslmode=verify-ca"),
        ("postgres://u@localhost,db.example/a?sslmode=require", "sslmode=require"),
        ("postgres://u@localhost/a?hostaddr=192.0.2.1&sslmode=allow", "sslmode=allow"),
        ("postgres://u@localhost.example/a?sslmode=allow", "sslmode=allow"),
        ("postgres://u@127.0.0.1.example/a?sslmode=allow", "sslmode=allow"),
        ("postgres://u:hunter2@localhost/a", "remove password from the URI"),
        ("postgres://u@localhost/a?password=hunter2", "remove password from the URI"),
        ("postgres://u@localhost/a?sslpassword=hunter2", "remove sslpassword from the URI"),
        ("postgres://u@localhost/a?service=hunter2", "service"),
        ("postgres://u@localhost/a?hunter2=1", "cannot read"),
        ("postgres://u@[::1/hunter2", "cannot read"),
        ("host=localhost password=hunter2", "postgres://user@host"), ("", "postgres://user@host"),
    ])
    func refused(uri: String, word: String) {
        let error = #expect(throws: PostgresError.self) { _ = try parse(uri) }
        guard case .address(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(word), "\(text)")
        #expect(!text.contains("hunter2"))
    }

    @Test("takes less where the configuration says so", arguments: ["disable", "require"])
    func insecure(mode: String) throws {
        _ = try parse("postgres://u@db.example/a?sslmode=\(mode)", insecure: true)
    }

    @Test("refuses a password with a NUL, of which libpq would see a part")
    func broken() {
        #expect(throws: PostgresError.self) {
            try PostgresAddress(uri: "postgres://u@/a", password: SecretBytes([65, 0, 66]))
        }
    }

    @Test("never shows its password")
    func hidden() throws {
        let address = try parse("postgres://u@localhost/a")
        var text = ""
        dump(address, to: &text)
        #expect(!text.contains("hunter2") && !"\(address)".contains("hunter2"))
    }
}
