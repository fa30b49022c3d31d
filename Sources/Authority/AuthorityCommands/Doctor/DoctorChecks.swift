import AuthorityBroker
import AuthorityCore
import AuthorityService
import AuthorityStore
import Doctor

typealias AuthorityCheck = Check<AuthorityFacts>

extension AuthorityCheck {
    /// All checks, in the order in which they are shown.
    static let all = configuration + authority + alerts + storage + keptData + database
        + broker + page + versions

    static let configuration = [
        AuthorityCheck(
            id: "config-authority", group: .configuration, about: "authority.toml is well-formed",
            why: "an authority refuses to start with a malformed file"
        ) { facts in
            guard let fault = facts.configFault else {
                return .ok(facts.hasConfig ? "authority.toml is well-formed"
                    : "there is no authority.toml: every setting has its default")
            }
            return .failed(fault, next: "correct authority.toml")
        },
        AuthorityCheck(
            id: "file-modes", group: .configuration,
            about: "nobody else may change the configuration or read the state",
            why: "a person who can read the state folder can act as the authority"
        ) { facts in
            guard !facts.modeFaults.isEmpty else {
                return .ok("no other user can change the configuration or read the state")
            }
            return .failed(
                facts.modeFaults.joined(separator: "; "),
                next: "set modes and owners as shown; run doctor as root or as the service's user")
        },
    ]

    static let authority = [
        AuthorityCheck(
            id: "state", group: .authority,
            about: "the database exists, is undamaged, and has a known schema",
            why: "users, boards and sessions are only in the database", needs: [.state]
        ) { facts in
            // If the database is down, its content is unknown, and there is nothing to restore.
            guard facts.database?.fault == nil else { return .skipped("see database") }
            let next = facts.database == nil
                ? "restore the state folder from a backup, or run `postern-authority init`"
                : "check that `store` names the right database; BACKUP.md shows how to restore one"
            if let fault = facts.storeFault { return .failed(fault, next: next) }
            guard let store = facts.store else { return .skipped("see config-authority") }
            if let version = store.otherVersion {
                return .failed(Schema.fault(of: version), next: Schema.advice)
            }
            guard let damage = store.damage else {
                return .ok("it opens; it is too large for a full check")
            }
            guard damage.isEmpty else {
                return .failed(damage.joined(separator: "; "), next: next)
            }
            return .ok(facts.database == nil ? "it opens, and SQLite finds no fault" : "it opens")
        },
        AuthorityCheck(
            id: "key-file", group: .authority,
            about: "authority.key opens the keys in the database",
            why: "without it the authority cannot talk to boards, and boards trust no other key",
            needs: [.state]
        ) { facts in
            if let fault = facts.keyFault {
                return .failed(fault, next: """
                    restore the master key from a backup, or copy it from another authority of \
                    the same store
                    """)
            }
            guard let store = facts.store, !store.keys.isEmpty else {
                return unread(facts)
            }
            return .ok("authority.key opens all \(store.keys.count) keys")
        },
        AuthorityCheck(
            id: "clock", group: .authority, about: "the clock fits the latest time on record",
            why: "a wrong clock would end sessions for good, so the service stops answering",
            needs: [.state]
        ) { facts in
            guard facts.store != nil else { return unread(facts) }
            guard let words = facts.clock.words else { return .ok("the clock fits the records") }
            return .failed(words, next: "set the clock, by NTP if you can")
        },
        AuthorityCheck(
            id: "restored", group: .authority, about: "no board is ahead of the store",
            why: "after a restore, boards set up later keep their data but get no answer",
            needs: [.state]
        ) { facts in
            guard let store = facts.store else { return unread(facts) }
            let next = "set up the boards in `postern-authority restore --list` again, then run "
                + "`postern-authority restore --settle`"
            if store.boardsAhead > 0 {
                return .warning("\(store.boardsAhead) boards are ahead of the store", next: next)
            }
            guard store.isRestored else { return .ok("no board is ahead of the store") }
            return .warning("an earlier state was restored and is not settled yet", next: next)
        },
        AuthorityCheck(
            id: "served", group: .authority, about: "the authority runs and answers",
            why: "boards work without it for a while, but nobody can log in, claim or revoke",
            needs: [.served]
        ) { facts in
            guard facts.configFault == nil else { return .skipped("see config-authority") }
            guard facts.isServed else {
                return .failed(
                    "no authority runs with this state folder",
                    next: "start postern-authority serve, or its systemd unit")
            }
            if case .failed(let text)? = facts.page?.tcp {
                return .failed(text, next: "check http.listen and the authority's log")
            }
            return .ok("the authority runs, and its HTTP answers")
        },
    ]

    /// Why the records are not known.
    private static func unread(_ facts: AuthorityFacts) -> Finding {
        if facts.configFault != nil { return .skipped("see config-authority") }
        if facts.keyFault != nil { return .skipped("see key-file") }
        return .skipped(facts.database?.fault == nil ? "see state" : "see database")
    }

    static let alerts = [
        AuthorityCheck(
            id: "alerts-delivery", group: .authority, about: "alerts are sent",
            why: "a fault that nobody hears of lasts longer", needs: [.state]
        ) { facts in
            guard let store = facts.store, store.otherVersion == nil else {
                return .skipped("the database cannot be read")
            }
            guard !facts.alertChannels.isEmpty else {
                return .skipped("[alerts] names no webhook, ntfy or smtp")
            }
            let last = store.alertDeliveries.filter { facts.alertChannels.contains($0.channel) }
            let failures = last.compactMap { delivery in
                delivery.failure.map { "\(delivery.channel.rawValue): \($0)" }
            }
            guard failures.isEmpty else {
                return .warning(
                    failures.joined(separator: "; "),
                    next: "correct [alerts] in authority.toml, then run `postern alerts test`")
            }
            return .ok(last.isEmpty ? "none was sent yet; try: postern alerts test"
                : "the last message on each channel was sent")
        },
    ]

    static let storage = AuthorityCheck.disk(
        needs: [.disk], makeRoom: "free space on the disk of the state folder"
    ) { $0.disk }

    static let broker = [
        AuthorityCheck(
            id: "mosquitto", group: .broker, about: "the embedded broker's program is installed",
            why: "the authority starts its own mosquitto", needs: [.programs]
        ) { facts in
            switch facts.program {
            case .success(let text): .ok(text)
            case .failure(let missing):
                .failed(missing.words, next: "install it: apt install mosquitto")
            case nil: .skipped(
                facts.isExternal ? "the broker is not embedded" : "see config-authority")
            }
        },
    ] + AuthorityCheck.reach(
        to: "the broker", group: .broker, needs: [.reach], named: "authority.toml, [broker]",
        untried: { $0.configFault == nil ? "the broker is embedded" : "see config-authority" }
    ) { $0.reach } + [
        AuthorityCheck(
            id: "broker-login", group: .broker, about: "the authority can log in at the broker",
            why: "without it the authority and the boards cannot exchange messages",
            needs: [.served, .broker]
        ) { facts in
            guard let trial = facts.broker else {
                return untriedLogin(facts)
            }
            guard let fault = trial.loginFault else {
                return .ok("the broker lets the authority in")
            }
            return .failed(fault, next: """
                check broker.username and broker.password_file; for an embedded broker, restart \
                the authority
                """)
        },
        AuthorityCheck(
            id: "broker-access", group: .broker, about: "the authority can manage broker logins",
            why: "a board's login is made at its claim and deleted at its revocation",
            needs: [.served, .broker]
        ) { facts in
            guard facts.managesAccess else {
                return .skipped("the logins are managed elsewhere: broker.access")
            }
            guard let trial = facts.broker, trial.loginFault == nil else {
                return .skipped("see broker-login")
            }
            guard let fault = trial.accessFault else {
                return .ok("the broker lets the authority manage logins")
            }
            return .failed(
                fault,
                next: "load mosquitto_dynamic_security.so there, and let our user manage it")
        },
    ]

    /// Why no login at the broker was tried.
    private static func untriedLogin(_ facts: AuthorityFacts) -> Finding {
        if let check = facts.reach?.broken { return .skipped("see \(check)") }
        guard facts.store?.keys.isEmpty == false else { return unread(facts) }
        return .skipped("the broker is embedded, and the authority does not run")
    }

    static let page = [
        AuthorityCheck(
            id: "certificates", group: .page, about: "our own certificates are valid",
            why: "an expired one ends every board's and every person's connection"
        ) { facts in
            if let fault = facts.authorityFault {
                return .failed(fault, next: """
                    restore state_dir/tls from a backup: boards and people trust this CA, and do \
                    not trust a new one
                    """)
            }
            return CertificateJudgement.finding(facts.certificates)
        },
        AuthorityCheck(
            id: "console-files", group: .page, about: "the console's files are installed",
            why: "without them a phone cannot claim a board; all other parts work"
        ) { facts in
            guard facts.configFault == nil else { return .skipped("see config-authority") }
            guard let fault = facts.consoleFault else {
                return .ok("the files of the page are installed")
            }
            return .warning(fault, next: "install the files, or set http.console to their folder")
        },
    ]

    static let versions = [
        AuthorityCheck(
            id: "versions", group: .versions, about: "versions of this program and its libraries",
            why: "support needs them first"
        ) { facts in
            .ok(facts.versions.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
        },
    ]
}

enum CertificateJudgement {
    /// The worst finding of all certificates.
    static func finding(_ certificates: [AuthorityFacts.Certificate]) -> Finding {
        let findings = certificates.map { certificate -> Finding in
            guard let left = certificate.timeLeft else {
                return .failed(
                    "\(certificate.file) has no certificate, or cannot be read",
                    next: certificate.isOwn ? "run `postern-authority tls renew`"
                        : "put the certificate there as PEM, and let the authority read it")
            }
            return CertificateAge.finding(certificate.file, left)
        }
        return findings.max { $0.result < $1.result }
            ?? .skipped("none is configured: broker and page have no TLS of their own")
    }
}
