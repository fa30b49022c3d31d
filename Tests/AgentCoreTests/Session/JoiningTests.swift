import AgentCore
import AgentCryptography
import Cryptography
import Sessions
import Testing
import Wire

@Suite("A prepared claim")
struct JoiningTests {
    private static let id = InstallationID("5c0f7a9e-4b7d-4b8c-9e43-0123456789ab")

    /// A board that took a prepared claim's file, and its claim's id.
    static func board(
        claimed: PendingClaim? = nil
    ) throws -> (bench: Bench, join: PendingJoin) {
        var bench = try Bench()
        let join = PendingJoin(
            id: try #require(Self.id), secret: SecretBytes(try Cryptographer().random(32)),
            sealKey: bench.authority.sealKey.publicKey.rawRepresentation, authority: "Home",
            expiresAt: Bench.start + .seconds(30 * 86_400))
        bench.secrets.append(Base64URL.encode(join.secret.reveal()))
        for purpose in [ClaimPurpose.broker, .claim] {
            let key = try Cryptographer().derive(purpose, from: join.secret, board: join.id)
            bench.secrets.append(Base64URL.encode(key.reveal()))
        }
        bench.store.commit([.join(join)] + (claimed.map { [.claim($0)] } ?? []))
        try bench.restart()
        return (bench, join)
    }

    static func isJoin(_ login: UplinkLogin) -> Bool {
        login.username == id?.description
    }

    /// The join request in these effects, opened as its authority does.
    private static func request(
        _ effects: [AgentEffect], _ join: PendingJoin, _ bench: Bench
    ) throws -> HeardJoin? {
        for case .askToJoin(let topic, let payload) in effects {
            #expect(topic == "postern/v1/\(join.id)/outbox")
            let envelope = try SealedEnvelope(parsing: payload)
            #expect(envelope.mode == .psk)
            #expect(envelope.to == bench.authority.sealKey.publicKey.keyID)
            let key = try Cryptographer().derive(.claim, from: join.secret, board: join.id)
            let request = try JoinRequest(parsing: HPKE.openPSK(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), with: bench.authority.sealKey,
                info: SealedEnvelope.info, aad: Array(topic.utf8),
                psk: .init(key: key, id: Array(join.id.description.utf8))))
            let own = try Cryptographer().open(
                request.claim, from: request.deviceKey,
                with: bench.authority.sealKey.rawRepresentation, topic: topic)
            return HeardJoin(request: request, claimSecret: try JoinSecret(parsing: own).secret)
        }
        return nil
    }

    func warnings(_ effects: [AgentEffect]) -> [String] {
        effects.compactMap { if case .log(.warning, let text) = $0 { text } else { nil } }
    }

    func joining(_ bench: Bench) -> [String: JSONValue]? {
        bench.agent.status(at: bench.instant).asObject?["joining"]?.asObject
    }

    /// The next try, which must come within a minute.
    func next(_ bench: inout Bench) throws -> UplinkLogin {
        for _ in 0..<600 {
            if let login = bench.run(for: .milliseconds(100)).logins.first { return login }
        }
        return try #require(nil as UplinkLogin?)
    }

    /// Goes on to the next try to join. The broker refuses the board's own logins. Returns how
    /// many tries that were.
    @discardableResult
    func nextJoin(_ bench: inout Bench) throws -> Int {
        for tries in 1...100 {
            if Self.isJoin(try next(&bench)) { return tries }
            bench.handle(.uplink(.refused("broker login: not authorised")))
        }
        return try #require(nil as Int?)
    }

    /// The board has asked, and the broker has acknowledged that.
    func asked(_ bench: inout Bench) {
        bench.handle(.uplink(.connected))
        bench.handle(.uplink(.asked))
    }

    @Test("is used by its own login, which has no will and hears nothing")
    func login() throws {
        var (bench, join) = try Self.board()
        let login = try #require(bench.handle(.started).logins.first)
        let key = try Cryptographer().derive(.broker, from: join.secret, board: join.id)
        #expect(login.clientID == "postern-\(join.id)" && login.username == "\(join.id)")
        #expect(login.password.reveal() == Array(Base64URL.encode(key.reveal()).utf8))
        #expect(login.will == nil && login.uri == nil && login.ca == nil)
        let effects = bench.handle(.uplink(.connected))
        #expect(effects.kinds == ["ask"])
    }

    @Test("sends the parts of the board's own claim, sealed to its authority")
    func request() throws {
        var (bench, join) = try Self.board()
        #expect(bench.handle(.started).commits.joined().map(\.name) == ["claim"])
        let effects = bench.handle(.uplink(.connected))
        let request = try #require(try Self.request(effects, join, bench))
        #expect(request.installation == bench.identity.installation)
        #expect(request.deviceKey == bench.identity.deviceKey)
        #expect(request.name == "greenhouse" && !request.clockUnset)
        #expect(request.issuedAt == bench.wall)
        #expect(request.claimSecret.matches(try #require(bench.store.load().claim).secret))
    }

    @Test("leads from the request to a session, and is then gone")
    func life() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        bench.handle(.uplink(.connected))
        let effects = bench.handle(.uplink(.asked))
        #expect(effects.kinds.contains("disconnect"))
        let fingerprint = try #require(bench.agent.fingerprint)
        #expect(effects.logs.contains { $0.contains("\(fingerprint)") && $0.contains("Home") })
        let own = try #require(bench.run(for: .seconds(4)).logins.first)
        #expect(own.username == bench.identity.installation.description && own.will != nil)
        #expect(joining(bench)?["fingerprint"] == .string("\(fingerprint)"))
        bench.connect()
        let claim = try #require(bench.store.load().claim).secret
        let provisioned = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision("ann", at: bench.wall)), claim: claim,
            at: bench.wall)))
        #expect(provisioned.states == ["available"])
        #expect(provisioned.commits.joined().map(\.name).contains("no join"))
        #expect(bench.store.join == nil && joining(bench) == nil)
        bench.handle(.uplink(.lost("administrative action")))
        #expect(!bench.run(for: .seconds(300)).logins.contains(where: Self.isJoin))
    }

    @Test("is repeated once a minute, and the board's own login is tried every 3 s")
    func pace() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        var asked: [Duration] = []
        var tried: [Duration] = []
        var login = true
        let end = bench.monotonic + .seconds(300)
        while bench.monotonic < end {
            if login {
                asked.append(bench.monotonic)
                self.asked(&bench)
            } else {
                tried.append(bench.monotonic)
                bench.handle(.uplink(.refused("broker login: not authorised")))
            }
            login = Self.isJoin(try next(&bench))
        }
        let pauses = zip(asked, asked.dropFirst()).map { $1 - $0 }
        #expect(pauses.count >= 4 && pauses.allSatisfy { $0 >= .seconds(60) && $0 < .seconds(67) })
        let waits = zip(tried, tried.dropFirst()).map { $1 - $0 }
        #expect(tried.count > 90 && waits.allSatisfy { $0 <= .milliseconds(6500) })
    }

    @Test("warns of no refusal before the acceptance, and says in status what it waits for")
    func quiet() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        bench.run(for: .seconds(4))
        #expect(warnings(bench.handle(.uplink(.refused("broker login: no")))).isEmpty)
        let uplink = bench.agent.status(at: bench.instant).asObject?["uplink"]
        #expect(uplink == .string("asks to join Home"))
    }

    @Test("that the broker refuses is said once, and tried on in turn with the board's own login")
    func refused() throws {
        var (bench, _) = try Self.board()
        var effects = bench.handle(.started)
        var tries: [Bool] = []
        var said: [String] = []
        for _ in 0..<8 {
            tries += effects.logins.map(Self.isJoin)
            effects = bench.handle(.uplink(.refused("broker login: not authorised")))
            said += warnings(effects)
            effects += bench.run(for: .seconds(4))
        }
        #expect(tries.starts(with: [true, false, true, false, true, false, true, false]))
        #expect(said.count == 1 && said.allSatisfy { $0.contains("prepared claim has ended") })
    }

    @Test("that another board has, too, is no proof of a shared identity")
    func second() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        for _ in 0..<5 {
            bench.handle(.uplink(.connected))
            let effects = bench.handle(.uplink(.takenOver))
            #expect(effects.kinds.contains("disconnect"))
            try nextJoin(&bench)
        }
        let status = bench.agent.status(at: bench.instant).asObject
        #expect(status?["identityShared"] == .bool(false))
    }

    @Test("survives a restart: the same secret is asked with, after the own login was tried")
    func restart() throws {
        var (bench, join) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let claim = try #require(bench.store.load().claim).secret
        try bench.restart()
        let first = try #require(bench.handle(.started).logins.first)
        #expect(!Self.isJoin(first))
        bench.handle(.uplink(.refused("broker login: not authorised")))
        let next = try #require(bench.run(for: .seconds(4)).logins.first)
        #expect(Self.isJoin(next))
        let request = try Self.request(bench.handle(.uplink(.connected)), join, bench)
        #expect(try #require(request).claimSecret.matches(claim))
    }

    @Test("gets a new claim secret when the old one has expired, and asks with it at once")
    func renewed() throws {
        var (bench, join) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let old = try #require(bench.store.load().claim).secret
        #expect(!Self.isJoin(try next(&bench)))
        bench.pass(.seconds(86_400))
        // An acceptance that came while the board was off still counts: its own login first.
        bench.handle(.uplink(.refused("broker login: not authorised")))
        try nextJoin(&bench)
        let request = try Self.request(bench.handle(.uplink(.connected)), join, bench)
        let new = try #require(request).claimSecret
        #expect(!new.matches(old))
        #expect(new.matches(try #require(bench.store.load().claim).secret))
    }

    @Test("accepted while the board was off for longer than its claim lasts still provisions it")
    func lateAcceptance() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let claim = try #require(bench.store.load().claim).secret
        bench.pass(.seconds(5 * 86_400))
        try bench.restart()
        let login = try #require(bench.handle(.started).logins.first)
        #expect(!Self.isJoin(login))
        bench.connect()
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision("ann", at: bench.wall)), claim: claim,
            at: bench.wall)))
        #expect(effects.states.contains("available"))
    }

    @Test("asks again at once with the secret that a person's `pair --new` made")
    func paired() throws {
        var (bench, join) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let fresh = try bench.pair(fresh: true)
        let request = try Self.request(bench.handle(.uplink(.connected)), join, bench)
        #expect(try #require(request).claimSecret.matches(fresh))
    }

    @Test("asks on a board whose clock is not set, and says so")
    func clockless() throws {
        var (bench, join) = try Self.board()
        bench.wall = Timestamp(milliseconds: 60_000)
        bench.handle(.started)
        let request = try Self.request(bench.handle(.uplink(.connected)), join, bench)
        #expect(try #require(request).clockUnset)
    }

    @Test("is not used by a board that has a session")
    func session() throws {
        var bench = try Bench()
        try bench.provision()
        let join = PendingJoin(
            id: try #require(Self.id), secret: SecretBytes([UInt8](repeating: 1, count: 32)),
            sealKey: bench.authority.sealKey.publicKey.rawRepresentation, authority: "Home",
            expiresAt: Bench.start)
        bench.store.commit([.join(join)])
        try bench.restart()
        #expect(bench.handle(.started).logins.contains(where: Self.isJoin) == false)
        #expect(joining(bench) == nil)
    }

    @Test("is kept in the vault as it was, and shown by `pair` with the board's fingerprint")
    func coding() throws {
        var (bench, join) = try Self.board()
        let kept = try #require(try bench.store.load().join)
        #expect(kept.id == join.id && kept.secret.matches(join.secret))
        #expect(kept.sealKey == join.sealKey && kept.authority == "Home")
        #expect(kept.expiresAt == join.expiresAt)
        bench.handle(.started)
        let shown = bench.agent.handle(.control(.pair, connection: 1), at: bench.instant)
        let answers = shown.compactMap {
            if case .answer(_, let json) = $0 { json.asObject?["fingerprint"]?.asString } else {
                nil
            }
        }
        #expect(answers == [bench.agent.fingerprint?.description])
    }

    @Test("ends when its connection fails at any step, and is tried again")
    func failing() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        for event in [UplinkEvent.lost("TCP: no"), .refused("no"), .takenOver, .lost("TLS: no")] {
            for connects in [false, true] {
                if connects { bench.handle(.uplink(.connected)) }
                #expect(bench.handle(.uplink(event)).kinds.contains("disconnect"))
                try nextJoin(&bench)
            }
        }
    }
}

/// A join request with the claim secret that its board sealed in it.
@dynamicMemberLookup
struct HeardJoin {
    let request: JoinRequest
    let claimSecret: SecretBytes

    subscript<Value>(dynamicMember path: KeyPath<JoinRequest, Value>) -> Value {
        request[keyPath: path]
    }
}
