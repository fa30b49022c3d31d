import AgentCore
import AgentCryptography
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Login at the upstream broker")
struct LoginTests {
    private func text(_ login: UplinkLogin?) -> String {
        login.map { String(decoding: $0.password.reveal(), as: UTF8.self) } ?? "none"
    }

    /// The login that the agent tries next, whenever it does.
    private func next(_ bench: inout Bench) -> UplinkLogin? {
        bench.run(for: .seconds(61)).logins.first
    }

    private func derived(_ claim: SecretBytes, _ bench: Bench) throws -> String {
        let key = try Cryptographer().derive(
            .broker, from: claim, board: bench.identity.installation)
        return Base64URL.encode(key.reveal())
    }

    /// Provisioned over the derived password; `change` may spoil the broker's part.
    private func provisioned(
        _ broker: BrokerAccess?
    ) throws -> (bench: Bench, derived: String) {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.broker = broker
        bench.handle(.inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        return (bench, try derived(claim, bench))
    }

    private static let ca: String = {
        let made = try? CertificateAuthority(
            commonName: "test", now: Bench.start, lifetime: .seconds(86_400)).certificate.pem()
        return String(decoding: made ?? [], as: UTF8.self)
    }()

    private func access(uri: String? = nil, ca: String? = nil,
    _ password: String?) -> BrokerAccess {
        BrokerAccess(
            uri: uri, username: nil, password: password.map { SecretBytes(Array($0.utf8)) }, ca: ca)
    }

    @Test("has the provisioned password first, the derived one until that has worked once")
    func order() throws {
        var (bench, derived) = try provisioned(access("broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        #expect(text(next(&bench)) == "broker-password-new")
        bench.handle(.uplink(.refused("not authorized")))
        #expect(text(next(&bench)) == derived)
        // The authority had not heard of the acceptance; the way it worked is not the rule.
        bench.connect()
        bench.handle(.uplink(.lost("gone")))
        #expect(text(next(&bench)) == "broker-password-new")
        let effects = bench.connect()
        #expect(effects.commits.joined().map(\.name).contains("trust"))
        for _ in 0..<3 {
            bench.handle(.uplink(.refused("not authorized")))
            #expect(text(next(&bench)) == "broker-password-new")
        }
        #expect(!bench.store.text.contains(derived))
        try bench.restart()
        #expect(text(bench.handle(.started).logins.first) == "broker-password-new")
    }

    @Test("survives a restart between provisioning and the new password's first use")
    func restart() throws {
        var (bench, derived) = try provisioned(access("broker-password-new"))
        try bench.restart()
        #expect(text(bench.handle(.started).logins.first) == "broker-password-new")
        bench.handle(.uplink(.refused("not authorized")))
        #expect(text(next(&bench)) == derived)
    }

    @Test("falls back to the claim's own where the provisioning came over the last one")
    func lateClaimPassword() throws {
        var (bench, _) = try provisioned(access("broker-password-1"))
        bench.handle(.uplink(.lost("gone")))
        #expect(text(next(&bench)) == "broker-password-1")
        bench.connect()
        bench.handle(.control(.logout, connection: 1))
        bench.connect()
        let claim = try bench.pair()
        var provision = try bench.authority.provision(session: "Session002", sequence: 200)
        provision.broker = access("broker-password-2")
        bench.handle(.inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        // The authority sets the claim's password only now, and the broker ends the connection.
        bench.handle(.uplink(.lost("administrative action")))
        let derived = try derived(claim, bench)
        var tried: [String] = []
        try bench.restart()
        tried.append(text(bench.handle(.started).logins.first))
        while tried.last != derived, tried.count < 6 {
            bench.handle(.uplink(.refused("not authorized")))
            tried.append(text(next(&bench)))
        }
        #expect(tried == ["broker-password-2", derived])
        #expect(try bench.sent(bench.connect()).map(\.body.name) == ["accepted", "authenticate"])
        bench.handle(.uplink(.lost("gone")))
        #expect(text(next(&bench)) == "broker-password-2")
        bench.connect()
        #expect(!bench.store.text.contains(derived))
        #expect(!bench.store.text.contains("broker-password-1"))
    }

    @Test("stays the derived one where the authority manages no access to its broker")
    func unmanaged() throws {
        var (bench, derived) = try provisioned(nil)
        for _ in 0..<2 {
            bench.handle(.uplink(.lost("gone")))
            #expect(text(next(&bench)) == derived)
            bench.connect()
        }
        try bench.restart()
        #expect(text(bench.handle(.started).logins.first) == derived)
    }

    @Test("stays as it is when a claim of a living session brings none")
    func kept() throws {
        var (bench, _) = try provisioned(access(uri: "mqtts://b.example", "broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        _ = next(&bench)
        bench.connect()
        for (index, broker) in [nil, access(uri: "mqtts://c.example", nil)].enumerated() {
            let claim = try bench.pair(fresh: true)
            var provision = try bench.authority.provision(session: "Session00\(index + 2)")
            provision.broker = broker
            bench.handle(.inbox(try bench.authority.seal(.provision(provision), claim: claim)))
            bench.handle(.uplink(.lost("gone")))
            let login = next(&bench)
            #expect(text(login) == "broker-password-new")
            #expect(login?.uri == (index == 0 ? "mqtts://b.example" : "mqtts://c.example"))
            bench.connect()
        }
    }

    @Test("falls back on the password it came over when a living session gets a new one")
    func replaced() throws {
        var (bench, _) = try provisioned(access("broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        _ = next(&bench)
        bench.connect()
        var renewal = try bench.authority.provision(session: "Session002", sequence: 101)
        renewal.broker = access("broker-password-newer")
        bench.handle(.inbox(try bench.authority.seal(.provision(renewal))))
        try bench.restart()
        #expect(text(bench.handle(.started).logins.first) == "broker-password-newer")
        bench.handle(.uplink(.refused("not authorized")))
        #expect(text(next(&bench)) == "broker-password-new")
    }

    @Test("falls back on agent.toml's place when the provisioned one is not reached")
    func place() throws {
        var (bench, derived) = try provisioned(
            access(uri: "mqtts://wrong.example", ca: Self.ca, "broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        let first = next(&bench)
        #expect(first?.uri == "mqtts://wrong.example")
        #expect(first?.ca == Self.ca)
        bench.handle(.uplink(.lost("name lookup failed")))
        let second = next(&bench)
        #expect(second?.uri == nil)
        #expect(second?.ca == nil)
        #expect(text(second) == "broker-password-new")
        bench.handle(.uplink(.refused("not authorized")))
        let third = next(&bench)
        #expect(third?.uri == nil)
        #expect(text(third) == derived)
        bench.handle(.uplink(.lost("tcp")))
        #expect(next(&bench)?.uri == "mqtts://wrong.example")
    }

    @Test("at a broker that just closes is tried by the other password too")
    func closed() throws {
        var (bench, derived) = try provisioned(access("broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        #expect(text(next(&bench)) == "broker-password-new")
        bench.handle(.uplink(.lost("closed")))
        #expect(text(next(&bench)) == derived)
        bench.handle(.uplink(.lost("closed")))
        #expect(text(next(&bench)) == "broker-password-new")
    }

    @Test("that is lost is one loss, however often it is told")
    func told() throws {
        var (bench, _) = try provisioned(access("broker-password-new"))
        #expect(bench.handle(.uplink(.lost("gone"))).kinds.contains("disconnect"))
        let due = bench.agent.nextDeadline(at: bench.instant)
        for event in [UplinkEvent.lost("again"), .refused("again")] {
            #expect(!bench.handle(.uplink(event)).kinds.contains("disconnect"))
        }
        #expect(bench.agent.nextDeadline(at: bench.instant) == due)
        #expect(text(next(&bench)) == "broker-password-new")
    }

    @Test("that never holds for a minute is waited for longer and longer")
    func flapping() throws {
        var (bench, _) = try provisioned(nil)
        bench.handle(.uplink(.lost("gone")))
        func wait(_ bench: inout Bench, holding: Duration) -> Duration {
            _ = next(&bench)
            bench.connect()
            bench.run(for: holding)
            bench.handle(.uplink(.lost("gone")))
            return (bench.agent.nextDeadline(at: bench.instant) ?? .zero) - bench.monotonic
        }
        for _ in 0..<8 { _ = wait(&bench, holding: .seconds(1)) }
        #expect(wait(&bench, holding: .seconds(59)) >= .seconds(5))
        #expect(wait(&bench, holding: .seconds(60)) <= .seconds(1))
    }

    @Test("that is refused, by the login's fault or not, is waited for from 1 s to 60 s",
          arguments: [UplinkEvent.refused("broker login: not authorised"),
                      .lost("MQTT: the server is busy"), .lost("MQTT: quota exceeded")])
    func refused(event: UplinkEvent) throws {
        var (bench, _) = try provisioned(nil)
        bench.handle(.uplink(.lost("gone")))
        for seconds in [2, 4, 8, 16, 32, 60, 60] as [Int64] {
            #expect(next(&bench) != nil)
            bench.handle(.uplink(event))
            let due = try #require(bench.agent.nextDeadline(at: bench.instant))
            let wait = due - bench.monotonic
            #expect(wait <= .seconds(seconds) && wait >= .seconds(seconds) / 2)
        }
    }

    @Test("takes nothing from another authority that had the board before")
    func newAuthority() throws {
        var (bench, _) = try provisioned(BrokerAccess(
            uri: "mqtts://old.example", username: "old-name",
            password: SecretBytes(Array("broker-password-old".utf8)), ca: Self.ca))
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        bench.authority = try TestAuthority(board: bench.identity)
        var logins = bench.handle(.control(.pair, connection: 1)).logins
        let claim = try #require(try bench.store.load().claim).secret
        for _ in 0..<6 {
            bench.handle(.uplink(.refused("not authorized")))
            logins += bench.run(for: .seconds(61)).logins.prefix(1)
        }
        let own = try derived(claim, bench)
        let iid = bench.identity.installation.description
        for login in logins {
            #expect(login.username == (text(login) == "broker-password-old" ? "old-name" : iid))
        }
        #expect(logins.contains { $0.uri == nil && text($0) == own })
        bench.connect()
        let provision = try bench.authority.provision("bob", session: "Session002")
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        let login = try #require(effects.logins.first)
        #expect(login.uri == nil)
        #expect(login.ca == nil)
        #expect(login.username == iid)
        #expect(text(login) == "broker-password-bob")
    }

    @Test("of a claim is first tried at agent.toml's place, by the derived password")
    func claimFirst() throws {
        var (bench, _) = try provisioned(
            access(uri: "mqtts://old.example", "broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        #expect(next(&bench)?.uri == "mqtts://old.example")
        bench.connect()
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        bench.connect()
        let effects = bench.handle(.control(.pair, connection: 1))
        let login = try #require(effects.logins.first)
        #expect(login.uri == nil)
        let claim = try #require(try bench.store.load().claim)
        #expect(text(login) == (try derived(claim.secret, bench)))
    }

    @Test("is tried again with back-off, never in a storm and never given up")
    func backoff() throws {
        var (bench, _) = try provisioned(access("broker-password-new"))
        bench.handle(.uplink(.lost("gone")))
        var waits: [Duration] = []
        for _ in 0..<20 {
            let before = bench.monotonic
            let due = try #require(bench.agent.nextDeadline(at: bench.instant))
            bench.pass(max(due - before, .zero))
            var effects = bench.handle(.deadline)
            while effects.logins.isEmpty {
                effects = bench.run(for: .milliseconds(100))
            }
            waits.append(bench.monotonic - before)
            bench.handle(.uplink(.lost("gone")))
        }
        #expect(waits.allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(61) })
        #expect(waits.suffix(5).allSatisfy { $0 >= .seconds(29) })
    }

    @Test("after a revocation tries an open claim's password too")
    func revoked() throws {
        var (bench, _) = try provisioned(access("broker-password-new"))
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        var tried = Set(bench.handle(.control(.pair, connection: 1)).logins.map(text))
        let claim = try #require(try bench.store.load().claim)
        for _ in 0..<2 {
            bench.handle(.uplink(.refused("not authorized")))
            tried.insert(text(next(&bench)))
        }
        #expect(tried.contains(try derived(claim.secret, bench)))
        #expect(tried.contains("broker-password-new"))
    }
}
