import Doctor
import Sessions
import Wire

typealias PersonCheck = Check<DoctorFacts>

extension PersonCheck {
    /// All checks, in the order of the report.
    static let all = configuration + page + login + broker + versions

    static let configuration = [
        PersonCheck(
            id: "profile", group: .configuration,
            about: "the login that is kept here can be read, by nobody else",
            why: "whoever reads it has your session"
        ) { facts in
            if let fault = facts.profileFault {
                return .failed(fault, next: "mend it as said, or log in again: `postern login`")
            }
            guard let username = facts.username, let authority = facts.authority else {
                return .ok("nobody is logged in")
            }
            return .ok("\(username) at \(authority)")
        },
    ]

    static let page = PersonCheck.reach(
        to: "the authority", group: .page, needs: [.reach], named: "the authority's address"
    ) { $0.reach } + [
        PersonCheck(
            id: "authority", group: .page, about: "what answers there is an authority",
            why: "a proxy or another program may answer at that address, or one that cannot work",
            needs: [.authority]
        ) { facts in
            guard let authority = facts.authority else {
                return .skipped("no authority is named")
            }
            let next = """
                look at the address, at the proxy before the authority, and on its machine at its \
                log and `postern-authority doctor`
                """
            switch facts.info {
            case .given(let info):
                return .ok("\(shown(info, "name")) at \(authority)")
            case .refused(let refusal): return .failed(refusal.text, next: next)
            case .failed(let text): return .failed(text, next: next)
            case nil: return .skipped("it was not asked; see the checks before")
            }
        },
        PersonCheck(
            id: "application-id", group: .page,
            about: "the authority still has the application id of the login",
            why: "with another id every request is refused", needs: [.authority]
        ) { facts in
            guard let known = facts.applicationID, let info = facts.info?.object else {
                return .skipped("nobody is logged in, or the authority does not answer")
            }
            let present = shown(info, "applicationId")
            guard known == present else {
                return .failed(
                    "the login has \(known), the authority \(present)",
                    next: "log in again: `postern login`")
            }
            return .ok(known)
        },
        PersonCheck(
            id: "clock", group: .page, about: "this machine's clock is the authority's",
            why: "with another time certificates and sessions seem over, or not yet begun",
            needs: [.authority]
        ) { facts in
            guard let skew = facts.skew?.components.seconds else {
                return .skipped("the authority did not tell its time")
            }
            guard abs(skew) > 30 else { return .ok("within 30 s") }
            return .warning(
                "the authority is \(abs(skew)) s \(skew > 0 ? "ahead" : "behind")",
                next: "set the clock that is wrong, by NTP if you can")
        },
    ]

    static let login = [
        PersonCheck(
            id: "session", group: .login, about: "your session is valid, and lasts",
            why: "without one the authority does nothing for you", needs: [.login]
        ) { facts in
            let next = "log in: `postern login`"
            guard facts.profileFault == nil else { return .skipped("see profile") }
            guard facts.username != nil else {
                return .failed("nobody is logged in here", next: next)
            }
            guard facts.isSafe else {
                return .failed(
                    "the token is not sent in clear to another machine",
                    next: "use an https:// address, or --insecure if you must")
            }
            switch facts.me {
            case .given(let answer): return session(answer, facts.now)
            case .refused(let refusal):
                return .failed("\(refusal.text) (\(refusal.code))", next: next)
            case .failed(let text): return .failed(text, next: "look at the authority's log")
            case nil: return .skipped("the authority was not asked")
            }
        },
    ]

    static let broker = [
        PersonCheck(
            id: "broker", group: .broker,
            about: "the broker that `watch` is sent to can be reached",
            why: "`postern watch` hears nothing without it", needs: [.broker]
        ) { facts in
            let next = """
                look at broker.advertise in authority.toml, which is what programs are told, and \
                at firewalls on the way
                """
            if let fault = facts.brokerFault { return .failed(fault, next: next) }
            guard let reach = facts.brokerReach else { return .skipped("there is no session") }
            for case .failed(let text) in [reach.lookup, reach.tcp, reach.tls] {
                return .failed(text, next: next)
            }
            guard case .done(let text) = reach.tls, let left = reach.certificateLeft else {
                if case .done(let text) = reach.tcp { return .ok(text) }
                return .ok("it can be reached")
            }
            return CertificateAge.finding(text, left)
        },
        PersonCheck(
            id: "broker-login", group: .broker, about: "it lets you in, and read your boards",
            why: "`postern watch` hears nothing without it", needs: [.broker]
        ) { facts in
            let next = "let the authority settle its broker access (it does at its start)"
            switch facts.brokerLogin {
            case .letIn(let rights) where rights.unsubscribable.isEmpty: return .ok("it does")
            case .letIn(let rights):
                return .failed(
                    "it refuses " + rights.unsubscribable.joined(separator: ", "), next: next)
            case .refused(let text), .unreachable(let text): return .failed(text, next: next)
            case nil:
                return .skipped("not tried: that would end a `watch` that runs; --try-login")
            }
        },
    ]

    static let versions = [
        PersonCheck(
            id: "versions", group: .versions, about: "this program and the authority are alike",
            why: "what one of them has learned since, the other does not know",
            needs: [.authority]
        ) { facts in
            let list = facts.versions.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
            guard let info = facts.info?.object, let own = facts.versions.first?.1,
                case .string(let other)? = info.members["version"], other != own
            else { return .ok(list) }
            return .warning(
                "the authority is \(other), this program \(own)",
                next: "install the same version in both places")
        },
    ]

    private static func shown(_ object: JSONObject, _ name: String) -> String {
        object.members[name]?.asString ?? "?"
    }

    private static func session(_ answer: JSONObject, _ now: Timestamp) -> Finding {
        guard let session = try? answer.object("session"),
            let iso = session.members["expiresAt"]?.asObject?["iso"]?.asString,
            let end = ParseDate.parse(iso)
        else { return .ok("it is valid, and has no end") }
        let hours = (end - now).components.seconds / 3600
        let text = "it is valid for \(hours >= 48 ? "\(hours / 24) days" : "\(hours) hours")"
        return hours >= 24
            ? .ok(text) : .warning(text, next: "log in again before then: `postern login`")
    }
}
