import AuthorityService
import Doctor

/// Facts about a database server, from one connection.
struct DatabaseFacts: Sendable, Equatable {
    /// Host and database, for messages.
    var place: String
    /// Why the connection failed, with the layer that failed.
    var fault: String?
    /// The server's own version text.
    var version = ""
    /// For example `TLSv1.3`; nil without TLS.
    var encryption: String?
    /// Whether the traffic stays on this machine.
    var isLocal = true
    /// Whether every role of the server may connect.
    var isOpen = false
    /// The time of the shortest query, the best of several.
    var latency = Duration.zero
    /// The lead of this machine's clock over the server's.
    var clockLead = Duration.zero
    /// The settings that differ from those in the store. With a difference the authority does not
    /// start.
    var differences: [String] = []
}

extension AuthorityCheck {
    /// The checks of a PostgreSQL store.
    static let database = [
        AuthorityCheck(
            id: "database", group: .storage, about: "the database accepts our connections",
            why: "without it no board gets an answer and nobody can log in", needs: [.state]
        ) { facts in
            guard let found = facts.database else { return noServer(facts) }
            guard let fault = found.fault else { return .ok("\(found.place), \(found.version)") }
            return .failed(fault, next: """
                check that its server runs; then check `store` and [postgres] in authority.toml
                """)
        },
        onConnection(
            id: "database-tls", about: "the connection to the database is protected",
            why: "an attacker there could read users and sessions, or act as the database"
        ) { found in
            if let encryption = found.encryption { return .ok(encryption) }
            guard !found.isLocal else { return .ok("the connection does not leave this machine") }
            return .warning(
                "unencrypted data leaves this machine",
                next: "give the server a certificate, and remove [postgres] insecure")
        },
        onConnection(
            id: "database-access", about: "only chosen roles may connect to the database",
            why: "a role that may connect can hold the locks that authorities need"
        ) { found in
            guard found.isOpen else { return .ok("only roles with the right may connect") }
            return .warning(
                "every role of the server may connect",
                next: "REVOKE CONNECT, TEMPORARY ON DATABASE … FROM PUBLIC")
        },
        onConnection(
            id: "database-latency", about: "the database answers quickly",
            why: "every request waits for it several times"
        ) { found in
            let text = "\(found.latency.milliseconds) ms for the shortest query"
            guard found.latency > .milliseconds(10) else { return .ok(text) }
            return .warning(text, next: "run the authority near its database")
        },
        onConnection(
            id: "database-clock", about: "this clock agrees with the database server's clock",
            why: "authorities of one store must agree on the time, because each sends it to boards"
        ) { found in
            let lead = found.clockLead
            let span = lead < .zero ? .zero - lead : lead
            let text = "this clock is \(span.milliseconds) ms "
                + (lead < .zero ? "behind" : "ahead of") + " the database server's"
            guard span > .seconds(5) else { return .ok(text) }
            let next = "set both clocks by NTP"
            return span > .seconds(60) ? .failed(text, next: next) : .warning(text, next: next)
        },
        onConnection(
            id: "shared-settings", about: "all authorities have the same settings",
            why: "each board and person may use any of the authorities, which must not differ"
        ) { found in
            guard found.differences.isEmpty else {
                return .failed(
                    found.differences.joined(separator: "; "), next: SettingAgreement.advice)
            }
            return .ok("they are the same as in the store")
        },
    ]

    private static func noServer(_ facts: AuthorityFacts) -> Finding {
        .skipped(facts.configFault == nil ? "the store is SQLite, on this machine's disk"
            : "see config-authority")
    }

    /// A check that needs a connection to the database.
    private static func onConnection(
        id: String, about: String, why: String,
        _ judge: @escaping @Sendable (DatabaseFacts) -> Finding
    ) -> AuthorityCheck {
        AuthorityCheck(
            id: id, group: .storage, about: about, why: why, needs: [.state]
        ) { facts in
            guard let found = facts.database else { return noServer(facts) }
            guard found.fault == nil else { return .skipped("see database") }
            return judge(found)
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
