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
            about: "the stored login can be read, and only by you",
            why: "anybody who can read it has your session"
        ) { facts in
            if let fault = facts.profileFault {
                return .failed(fault, next: "correct it, or log in again: `postern login`")
            }
            guard let username = facts.username, let authority = facts.authority else {
                return .ok("no login is stored on this machine")
            }
            return .ok("\(username) at \(authority)")
        },
    ]

    static let page = PersonCheck.reach(
        to: "the authority", group: .page, needs: [.reach], named: "the authority's address",
        untried: { $0.profileFault == nil ? "no authority is named" : "see profile" }
    ) { $0.reach } + [
        PersonCheck(
            id: "authority", group: .page, about: "an authority answers at that address",
            why: "a proxy or another program may answer there, or an authority that does not work",
            needs: [.authority]
        ) { facts in
            guard let authority = facts.authority else {
                return .skipped(facts.profileFault == nil ? "no authority is named" : "see profile")
            }
            let next = """
                check the address and the proxy in front of the authority; on the authority's \
                machine, look at its log and run `postern-authority doctor`
                """
            switch facts.info {
            case .given(let info):
                return .ok("\(shown(info, "name")) at \(authority)")
            case .refused(let refusal): return .failed(refusal.text, next: next)
            case .failed(let text): return .failed(text, next: next)
            case nil: return .skipped("see \(facts.reach?.broken ?? "profile")")
            }
        },
        PersonCheck(
            id: "application-id", group: .page,
            about: "the authority still has the application id of the login",
            why: "with another id every request is refused", needs: [.authority]
        ) { facts in
            guard let known = facts.applicationID, let info = facts.info?.object else {
                return .skipped(facts.applicationID == nil ? "no login is stored" : "see authority")
            }
            let present = shown(info, "applicationId")
            guard known == present else {
                return .failed(
                    "the login has \(known), the authority \(present)",
                    next: "log in again: `postern login`")
            }
            return .ok("the login and the authority have the same: \(known)")
        },
        PersonCheck(
            id: "clock", group: .page, about: "this machine's clock agrees with the authority's",
            why: "with a wrong time certificates and sessions seem expired or not yet valid",
            needs: [.authority]
        ) { facts in
            guard let skew = facts.skew?.components.seconds else {
                return .skipped("the authority has not sent its time")
            }
            guard abs(skew) > 30 else { return .ok("the clocks agree to 30 s or less") }
            return .warning(
                "the authority's clock is \(abs(skew)) s \(skew > 0 ? "ahead" : "behind")",
                next: "set the clock that is wrong, by NTP if you can")
        },
    ]

    static let login = [
        PersonCheck(
            id: "session", group: .login, about: "your session is valid for at least 24 hours",
            why: "without one the authority does nothing for you", needs: [.login]
        ) { facts in
            let next = "log in: `postern login`"
            guard facts.profileFault == nil else { return .skipped("see profile") }
            guard facts.username != nil else {
                return .failed("nobody is logged in here", next: next)
            }
            guard facts.isSafe else {
                return .failed(
                    "the token is not sent unencrypted to another machine",
                    next: "use an https:// address, or --insecure if you must")
            }
            switch facts.me {
            case .given(let answer): return session(answer, facts.now)
            case .refused(let refusal):
                return .failed("\(refusal.text) (\(refusal.code))", next: next)
            case .failed(let text): return .failed(text, next: "look at the authority's log")
            case nil: return .skipped("see authority")
            }
        },
    ]

    static let broker = [
        PersonCheck(
            id: "broker", group: .broker,
            about: "the broker that `watch` connects to can be reached",
            why: "`postern watch` hears nothing without it", needs: [.broker]
        ) { facts in
            let next = """
                check broker.advertise in authority.toml, the address that programs get, and the \
                firewalls between here and the broker
                """
            if let fault = facts.brokerFault { return .failed(fault, next: next) }
            guard let reach = facts.brokerReach else { return .skipped("see session") }
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
            id: "broker-login", group: .broker,
            about: "the broker accepts your login and lets you read your boards",
            why: "`postern watch` hears nothing without it", needs: [.broker]
        ) { facts in
            let next = "restart the authority: it sets up its broker access at its start"
            switch facts.brokerLogin {
            case .letIn(let rights) where rights.unsubscribable.isEmpty:
                return .ok("the broker accepts your login, and lets you read your boards")
            case .letIn(let rights):
                return .failed(
                    "it refuses " + rights.unsubscribable.joined(separator: ", "), next: next)
            case .refused(let text), .unreachable(let text): return .failed(text, next: next)
            case nil:
                return .skipped(
                    "not tried, because it ends your running `watch`; --try-login tries it")
            }
        },
    ]

    static let versions = [
        PersonCheck(
            id: "versions", group: .versions,
            about: "this program and the authority have the same version",
            why: "an older program lacks what a newer one can do",
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
        else { return .ok("your session is valid, and has no fixed end") }
        let hours = (end - now).components.seconds / 3600
        let span = hours >= 48 ? "\(hours / 24) days" : "\(hours) hours"
        let text = "your session is valid for \(span)"
        return hours >= 24
            ? .ok(text) : .warning(text, next: "log in again before then: `postern login`")
    }
}
