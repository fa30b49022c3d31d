import AuthorityBroker
import AuthorityService
import AuthorityStore
import Doctor

typealias AuthorityCheck = Check<AuthorityFacts>

extension AuthorityCheck {
    /// All checks, in the order in which they are shown.
    static let all = configuration + authority + storage + database + broker + page + versions

    static let configuration = [
        AuthorityCheck(
            id: "config-authority", group: .configuration, about: "authority.toml is well-formed",
            why: "an authority refuses to start with a malformed file"
        ) { facts in
            guard let fault = facts.configFault else {
                return .ok(facts.hasConfig ? "authority.toml is well-formed"
                    : "there is no authority.toml: every setting has its default")
            }
            return .failed(fault, next: "mend authority.toml")
        },
        AuthorityCheck(
            id: "file-modes", group: .configuration,
            about: "nobody else may change the configuration or read the state",
            why: "whoever reads the state folder can be the authority"
        ) { facts in
            guard !facts.modeFaults.isEmpty else { return .ok("as strict as they must be") }
            return .failed(
                facts.modeFaults.joined(separator: "; "),
                next: "set modes and owners as said; run doctor as root or as its user")
        },
    ]

    static let authority = [
        AuthorityCheck(
            id: "state", group: .authority,
            about: "the database is there, whole, and of a schema that is known",
            why: "users, boards and sessions stand in it and nowhere else", needs: [.state]
        ) { facts in
            // If the database is down, its content is unknown, and there is nothing to restore.
            guard facts.database?.fault == nil else { return .skipped("see database") }
            let next = facts.database == nil
                ? "bring the state folder back from a backup, or run `postern-authority init`"
                : "see that `store` names the right database; BACKUP.md says how one is restored"
            if let fault = facts.storeFault { return .failed(fault, next: next) }
            guard let store = facts.store else { return .skipped("it was not looked at") }
            if let version = store.otherVersion {
                return .failed(Schema.fault(of: version), next: Schema.advice)
            }
            guard let damage = store.damage else {
                return .ok("it opens; it is too large to look through")
            }
            guard damage.isEmpty else {
                return .failed(damage.joined(separator: "; "), next: next)
            }
            return .ok(facts.database == nil ? "it opens, and SQLite finds no fault" : "it opens")
        },
        AuthorityCheck(
            id: "key-file", group: .authority,
            about: "authority.key opens the keys in the database",
            why: "without it no board can be spoken to, and none believes another",
            needs: [.state]
        ) { facts in
            if let fault = facts.keyFault {
                return .failed(fault, next: """
                    bring the master key back from a backup, or copy it from another authority of \
                    the same store
                    """)
            }
            guard let store = facts.store, !store.keys.isEmpty else {
                return .skipped("the database or the file cannot be read")
            }
            return .ok("\(store.keys.count) keys open")
        },
        AuthorityCheck(
            id: "clock", group: .authority, about: "the clock fits the latest time on record",
            why: "a wrong clock would end sessions for good, so the service stops answering",
            needs: [.state]
        ) { facts in
            guard facts.store != nil else { return .skipped("the database cannot be read") }
            guard let words = facts.clock.words else { return .ok("it is believed") }
            return .failed(words, next: "set the clock, by NTP if you can")
        },
        AuthorityCheck(
            id: "restored", group: .authority, about: "no board is ahead of the store",
            why: "after a backup was restored, boards set up since keep what they have, unheard",
            needs: [.state]
        ) { facts in
            guard let store = facts.store else { return .skipped("the database cannot be read") }
            let next = "set up anew what `postern-authority restore --list` shows; then --settle"
            if store.boardsAhead > 0 {
                return .warning("\(store.boardsAhead) boards are ahead of the store", next: next)
            }
            guard store.isRestored else { return .ok("none was found") }
            return .warning("an earlier state was restored, and is not settled", next: next)
        },
        AuthorityCheck(
            id: "served", group: .authority, about: "the authority runs and answers",
            why: "boards go on without it for a while, and nobody can log in, claim or revoke",
            needs: [.served]
        ) { facts in
            guard facts.configFault == nil else { return .skipped("see config-authority") }
            guard facts.isServed else {
                return .failed(
                    "nothing serves from the state folder",
                    next: "start it: postern-authority serve, or its unit")
            }
            if case .failed(let text)? = facts.page?.tcp {
                return .failed(text, next: "look at http.listen, and at the authority's journal")
            }
            return .ok("it serves, and its HTTP answers")
        },
    ]

    static let storage = AuthorityCheck.disk(
        needs: [.disk], makeRoom: "make room where the state folder is"
    ) { $0.disk }

    static let broker = [
        AuthorityCheck(
            id: "mosquitto", group: .broker, about: "the embedded broker's program is there",
            why: "the authority starts a mosquitto of its own", needs: [.programs]
        ) { facts in
            switch facts.program {
            case .success(let text): .ok(text)
            case .failure(let missing):
                .failed(missing.words, next: "install it: apt install mosquitto")
            case nil: .skipped("the broker is not embedded, or nobody looked")
            }
        },
    ] + AuthorityCheck.reach(
        to: "the broker", group: .broker, needs: [.reach], named: "authority.toml, [broker]"
    ) { $0.reach } + [
        AuthorityCheck(
            id: "broker-login", group: .broker, about: "the boards' broker lets the authority in",
            why: "without it no board is heard, and none hears", needs: [.served, .broker]
        ) { facts in
            guard let trial = facts.broker else {
                return .skipped("the broker is not there, or cannot be logged in at")
            }
            guard let fault = trial.loginFault else { return .ok("it does") }
            return .failed(fault, next: """
                look at broker.username and broker.password_file; for an embedded broker, start \
                the authority anew
                """)
        },
        AuthorityCheck(
            id: "broker-access", group: .broker, about: "who may log in there can be managed",
            why: "a board's login is made at its claim, and taken at its revocation",
            needs: [.served, .broker]
        ) { facts in
            guard facts.managesAccess else {
                return .skipped("it is managed elsewhere: broker.access")
            }
            guard let trial = facts.broker, trial.loginFault == nil else {
                return .skipped("the broker does not let us in")
            }
            guard let fault = trial.accessFault else { return .ok("dynamic security answers") }
            return .failed(
                fault, next: "load mosquitto_dynamic_security.so there, and let our user manage it")
        },
    ]

    static let page = [
        AuthorityCheck(
            id: "certificates", group: .page, about: "our own certificates last",
            why: "an expired one ends every board's and every person's connection"
        ) { facts in
            if let fault = facts.authorityFault {
                return .failed(fault, next: """
                    bring state_dir/tls back from a backup: boards and people know this CA, and \
                    another would be another authority
                    """)
            }
            return CertificateJudgement.finding(facts.certificates)
        },
        AuthorityCheck(
            id: "console-files", group: .page, about: "the console's page is there",
            why: "without it a phone cannot claim a board; everything else goes on"
        ) { facts in
            guard facts.configFault == nil else { return .skipped("see config-authority") }
            guard let fault = facts.consoleFault else { return .ok("it is there") }
            return .warning(fault, next: "install the page, or say http.console where it is")
        },
    ]

    static let versions = [
        AuthorityCheck(
            id: "versions", group: .versions, about: "what this program runs on",
            why: "whoever is to help asks for them first"
        ) { facts in
            .ok(facts.versions.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
        },
    ]
}

enum CertificateJudgement {
    /// The worst finding of all certificates.
    static func finding(_ certificates: [AuthorityFacts.Certificate]) -> Finding {
        guard !certificates.isEmpty else { return .skipped("we show none") }
        let findings = certificates.map { certificate -> Finding in
            guard let left = certificate.timeLeft else {
                return .failed(
                    "\(certificate.file) holds no certificate, or cannot be read",
                    next: certificate.isOwn ? "run `postern-authority tls renew`"
                        : "put the certificate there, PEM, readable for the authority")
            }
            return CertificateAge.finding(certificate.file, left)
        }
        return findings.max { $0.result < $1.result } ?? .skipped("we show none")
    }
}
