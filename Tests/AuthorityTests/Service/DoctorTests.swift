import AuthorityCore
import AuthorityStore
import Doctor
import DoctorBreakages
import Sessions
import Testing

@testable import AuthorityBroker
@testable import AuthorityCommands
@testable import AuthorityService

@Suite("Authority doctor")
struct AuthorityDoctorTests {
    /// An authority where all is well, with an external broker.
    private static var healthy: AuthorityFacts {
        var facts = AuthorityFacts()
        facts.isExternal = true
        var store = StoreExamination()
        store.damage = []
        store.keys = [
            .init(kind: .seal, name: "a", publicKey: [], privateKey: SecretBytes([1]),
                  createdAt: Timestamp(milliseconds: 0)),
        ]
        facts.alertChannels = [.webhook, .email]
        store.alertDeliveries = [
            AlertDelivery(channel: .webhook, at: Timestamp(milliseconds: 0), failure: nil),
            AlertDelivery(channel: .ntfy, at: Timestamp(milliseconds: 0), failure: "not in use"),
        ]
        facts.store = store
        facts.database = DatabaseFacts(
            place: "db/postern", version: "PostgreSQL 15.4", encryption: "TLSv1.3",
            isLocal: false, latency: .milliseconds(1), clockLead: .milliseconds(-40))
        facts.isServed = true
        let way = Reach(lookup: .done("b is 192.0.2.1"), tcp: .done("answers"), tls: .done("TLS"))
        facts.page = way
        facts.reach = way
        facts.reach?.certificateLeft = .seconds(60 * 86_400)
        facts.broker = BrokerTrial()
        facts.program = .success("mosquitto version 2.0.18")
        facts.certificates = [.init(file: "tls/http.pem", timeLeft: .seconds(60 * 86_400))]
        facts.disk = DiskFacts(folder: "/state", available: 8 << 30, wanted: 1)
        facts.keptData = .kept(
            DataUsage(records: 1000, bytes: 1 << 20, oldest: systemClock() - .seconds(60)),
            Self.bounds)
        return facts
    }

    private static let bounds = DataBounds(keep: .seconds(30 * 86_400), maxBytes: 1 << 30)

    static let breakages: [Breakage<AuthorityFacts>] = [
        Breakage("config-authority", .badConfiguration) {
            $0 = AuthorityFacts()
            $0.configFault = "authority.toml:1:1: x"
        },
        Breakage("file-modes", .badConfiguration) { $0.modeFaults = ["authority.db: too open"] },
        Breakage("state", .failed) {
            $0.store = nil
            $0.storeFault = "store: SQLite 26: file is not a database"
            $0.broker = nil
        },
        Breakage("state", .failed) { $0.store?.damage = ["row 3 missing from index x"] },
        Breakage("state", .failed) { $0.store?.otherVersion = 2 },
        Breakage("key-file", .failed) {
            $0.store?.keys = []
            $0.keyFault = "keys/seal/a cannot be unwrapped"
            $0.broker = nil
        },
        Breakage("clock", .failed) { $0.clock = .behind(.seconds(86_400)) },
        Breakage("restored", .warnings) { $0.store?.boardsAhead = 2 },
        Breakage("restored", .warnings) { $0.store?.isRestored = true },
        Breakage("alerts-delivery", .warnings) {
            $0.store?.alertDeliveries.append(AlertDelivery(
                channel: .email, at: Timestamp(milliseconds: 0), failure: "HTTP: Login denied"))
        },
        Breakage("served", .failed) {
            $0.isServed = false
            $0.page = nil
            $0.broker = nil
        },
        Breakage("served", .failed) { $0.page?.tcp = .failed("Connection refused") },
        Breakage("disk-space", .failed) { $0.disk?.available = 0 },
        Breakage("kept-data", .failed) { $0.keptData = .fault("data.db is not a database") },
        // Full after a day of thirty.
        Breakage("kept-data", .warnings) {
            $0.keptData = .kept(
                DataUsage(records: 1, bytes: 1 << 30, oldest: systemClock() - .seconds(86_400)),
                bounds)
        },
        Breakage("disk-health", .failed) { $0.disk?.errors = 1 },
        Breakage("database", .failed) {
            $0.database?.fault = "TCP: Connection refused"
            $0.storeFault = "the database cannot be asked"
            $0.store = nil
            $0.broker = nil
        },
        Breakage("shared-settings", .failed) { $0.database?.differences = ["http.app_id is …"] },
        Breakage("database-tls", .warnings) { $0.database?.encryption = nil },
        Breakage("database-access", .warnings) { $0.database?.isOpen = true },
        Breakage("database-latency", .warnings) { $0.database?.latency = .milliseconds(11) },
        Breakage("database-clock", .warnings) { $0.database?.clockLead = .seconds(-6) },
        Breakage("database-clock", .failed) { $0.database?.clockLead = .seconds(61) },
        Breakage("mosquitto", .failed) {
            $0.program = .failure(.init(words: "mosquitto is not installed"))
        },
        Breakage("name-lookup", .failed) {
            $0.reach = Reach(lookup: .failed("no"), tcp: .skipped("-"), tls: .skipped("-"))
            $0.broker = nil
        },
        Breakage("tcp", .failed) {
            $0.reach?.tcp = .failed("refused")
            $0.reach?.tls = .skipped("-")
            $0.broker = nil
        },
        Breakage("tls", .failed) {
            $0.reach?.tls = .failed("expired")
            $0.broker = nil
        },
        Breakage("tls", .warnings) { $0.reach?.certificateLeft = .seconds(86_400) },
        Breakage("broker-login", .failed) {
            $0.broker = BrokerTrial(loginFault: "broker login: Not authorized")
        },
        Breakage("broker-access", .failed) {
            $0.broker = BrokerTrial(accessFault: "dynamic security did not answer")
        },
        Breakage("certificates", .failed) { $0.certificates[0] = .init(file: "x", timeLeft: nil) },
        Breakage("certificates", .failed) {
            $0.certificates.append(.init(file: "x", timeLeft: .seconds(-1)))
        },
        Breakage("certificates", .warnings) {
            $0.certificates.append(.init(file: "x", timeLeft: .seconds(13 * 86_400)))
        },
        Breakage("console-files", .warnings) { $0.consoleFault = "not found" },
    ]

    @Test("sees each fault, and with it no other", arguments: breakages)
    func breakage(_ breakage: Breakage<AuthorityFacts>) {
        #expect(breakage.misjudged(by: AuthorityCheck.all, in: Self.healthy).isEmpty)
    }

    @Test("finds nothing wrong where all is well")
    func healthy() {
        let report = DoctorReport(AuthorityCheck.all, Self.healthy)
        #expect(report.rows.allSatisfy { $0.finding.result == .ok })
        #expect(report.verdict() == .ok)
    }

    @Test("has a fault for each of its checks but versions, which only tells")
    func complete() {
        let ids = AuthorityCheck.all.map(\.id)
        #expect(Set(ids) == Set(Self.breakages.map(\.id)).union(["versions"]))
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
    }
}
