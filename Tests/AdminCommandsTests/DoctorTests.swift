import Doctor
import DoctorBreakages
import Sessions
import Testing
import Wire

@testable import AdminCommands

@Suite("postern doctor")
struct PersonDoctorTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// A person's machine where all is well.
    private static func healthy() -> DoctorFacts {
        var facts = DoctorFacts()
        facts.username = "ada"
        facts.authority = AuthorityURL("https://a.example")
        facts.applicationID = "postern"
        facts.reach = Reach(lookup: .done("a"), tcp: .done("b"), tls: .done("TLSv1.3"))
        facts.reach?.certificateLeft = .seconds(60 * 86_400)
        facts.brokerReach = facts.reach
        facts.brokerLogin = .letIn(.init())
        facts.info = .given(JSONObject([
            "name": .string("Home"), "applicationId": .string("postern"),
            "version": .string("1.0.0"),
        ]))
        facts.versions = [("postern", "1.0.0")]
        facts.skew = .seconds(1)
        facts.now = now
        facts.me = .given(Self.session(endsIn: .seconds(10 * 86_400)))
        return facts
    }

    private static func session(endsIn span: Duration) -> JSONObject {
        let end = JSONValue.object([
            "__type": .string("Date"), "iso": .string(ParseDate.print(now + span)),
        ])
        return JSONObject(["session": .object(["expiresAt": end])])
    }

    static let breakages: [Breakage<DoctorFacts>] = [
        Breakage("profile", .badConfiguration) {
            $0 = DoctorFacts()
            $0.profileFault = "profile.json: mode 0644 is too open"
        },
        Breakage("name-lookup", .failed) {
            $0.reach = Reach(lookup: .failed("no"), tcp: .skipped("-"), tls: .skipped("-"))
            $0.forgetAnswers()
        },
        Breakage("tcp", .failed) {
            $0.reach?.tcp = .failed("refused")
            $0.reach?.tls = .skipped("-")
            $0.forgetAnswers()
        },
        Breakage("tls", .failed) {
            $0.reach?.tls = .failed("the certificate: self-signed certificate")
            $0.forgetAnswers()
        },
        Breakage("tls", .warnings) { $0.reach?.certificateLeft = .seconds(86_400) },
        Breakage("authority", .failed) {
            $0.forgetAnswers()
            $0.info = .failed("HTTP: status 502, and the answer is not an authority's")
        },
        Breakage("application-id", .failed) {
            $0.applicationID = "another"
            $0.me = nil
            $0.brokerReach = nil
        },
        Breakage("clock", .warnings) { $0.skew = .seconds(-3600) },
        Breakage("session", .failed) { $0.me = .refused(Refusal(.invalidSession, "over")) },
        Breakage("session", .failed) {
            $0.username = nil
            $0.applicationID = nil
            $0.me = nil
        },
        Breakage("session", .warnings) { $0.me = .given(session(endsIn: .seconds(3600))) },
        Breakage("broker", .failed) {
            $0.brokerReach?.tcp = .failed("refused")
            $0.brokerLogin = nil
        },
        Breakage("broker", .failed) { $0.brokerFault = "policy: no logins (119)" },
        Breakage("broker-login", .failed) { $0.brokerLogin = .refused("broker login: no") },
        Breakage("broker-login", .failed) {
            $0.brokerLogin = .letIn(.init(unsubscribable: ["postern/v1/x/data/#"]))
        },
        Breakage("versions", .warnings) { $0.versions = [("postern", "0.9.0")] },
    ]

    @Test("sees each fault, and with it no other", arguments: breakages)
    func breakage(_ breakage: Breakage<DoctorFacts>) {
        #expect(breakage.misjudged(by: PersonCheck.all, in: Self.healthy()).isEmpty)
    }

    @Test("finds nothing wrong where all is well")
    func healthy() {
        let report = DoctorReport(PersonCheck.all, Self.healthy())
        #expect(report.rows.allSatisfy { $0.finding.result == .ok })
    }

    @Test("has a fault for each of its checks")
    func complete() {
        let ids = PersonCheck.all.map(\.id)
        #expect(Set(ids) == Set(Self.breakages.map(\.id)))
        #expect(Set(ids).count == ids.count)
    }
}

extension DoctorFacts {
    /// As where nobody answers.
    fileprivate mutating func forgetAnswers() {
        info = nil
        skew = nil
        me = nil
        brokerReach = nil
        brokerLogin = nil
    }
}
