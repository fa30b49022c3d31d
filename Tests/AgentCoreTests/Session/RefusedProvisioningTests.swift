import AgentCore
import Cryptography
import Sessions
import Testing
import Wire

/// One thing that is wrong with a provisioning.
struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let spoil: @Sendable (inout Provision, TestAuthority) throws -> Void

    init(
        _ name: String, _ spoil: @escaping @Sendable (inout Provision, TestAuthority) throws -> Void
    ) {
        testDescription = name
        self.spoil = spoil
    }

    /// A token with spoilt claims, signed by the right key.
    static func claims(
        _ name: String, _ spoil: @escaping @Sendable (inout AccessTokenClaims) -> Void
    ) -> Fault {
        Fault("access token: \(name)") { provision, authority in
            var claims = try authority.claims(for: provision.session, at: Bench.start)
            spoil(&claims)
            try provision.setAccess(authority.accessToken(claims))
        }
    }

    /// A token with another header, signed by the right key.
    static func header(_ json: String) -> Fault {
        Fault("access token's header \(json)") { provision, authority in
            let claims = try authority.claims(for: provision.session, at: Bench.start)
            try provision.setAccess(authority.accessToken(claims, header: Array(json.utf8)))
        }
    }
}

extension Provision {
    fileprivate mutating func setAccess(_ text: String) throws {
        tokens.access = try #require(AccessToken(text))
    }

    fileprivate mutating func replace(
        user: UserID? = nil, restricted: Bool = true, board: InstallationID?,
        end: Timestamp? = nil
    ) {
        session = Session(
            objectID: session.objectID, user: user ?? session.user, restricted: restricted,
            createdWith: session.createdWith, installationID: board,
            createdAt: session.createdAt, expiresAt: end ?? session.expiresAt)
    }
}

@Suite("Refused provisioning")
struct RefusedProvisioningTests {
    private static let stranger = InstallationID(random: Array(0..<16))

    private static func granting(_ topic: String) -> ScopeDocument {
        ScopeDocument(unchecked: .object(["topics": .array([.string(topic)])]))
    }

    static let faults: [Fault] = [
        Fault("expired") { provision, _ in provision.expiresAt = Bench.start },
        Fault("expired long ago") { provision, _ in
            provision.expiresAt = Timestamp(milliseconds: 1000)
        },
        Fault("of another installation") { provision, _ in provision.replace(board: stranger) },
        Fault("of no installation") { provision, _ in provision.replace(board: nil) },
        Fault("not restricted") { provision, authority in
            provision.replace(restricted: false, board: authority.board.installation)
        },
        Fault("of another user") { provision, authority in
            provision.replace(
                user: UserID("Other00000"), board: authority.board.installation)
        },
        Fault("of a session that is over") { provision, authority in
            provision.replace(board: authority.board.installation, end: Bench.start)
        },
        Fault("with a scope for a protected class") { provision, _ in
            provision.scope = ScopeDocument(unchecked: .object([
                "rules": .array([.object([
                    "class": .string("_User"), "allow": .array([.string("create")]),
                ])]),
            ]))
        },
        Fault("with a broker that is no address") { provision, _ in
            provision.broker = BrokerAccess(
                uri: "http://x", username: nil, password: nil, ca: nil)
        },
        Fault("with a scope that grants all topics") { provision, _ in
            provision.scope = granting("#")
        },
        Fault("with a scope that grants topics of the authority") { provision, _ in
            provision.scope = granting("postern/+/x/inbox")
        },
        Fault("with a scope that grants topics of the broker") { provision, _ in
            provision.scope = granting("$SYS/#")
        },
        Fault("with a CA that is no certificate") { provision, _ in
            provision.broker = BrokerAccess(
                uri: nil, username: nil, password: nil,
                ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        },
        Fault("with an opaque access token") { provision, _ in try provision.setAccess("opaque") },
        Fault("signed by another key") { provision, authority in
            let claims = try authority.claims(for: provision.session, at: Bench.start)
            try provision.setAccess(JWS.sign(
                header: AccessTokenHeader(kid: authority.kid).bytes, payload: claims.bytes,
                with: try Ed25519PrivateKey()))
        },
        Fault("with a bent signature") { provision, _ in
            let text = provision.tokens.access.reveal()
            try provision.setAccess(
                text.dropLast(4) + (text.hasSuffix("AAAA") ? "AAAQ" : "AAAA"))
        },
        Fault("signed under an unknown kid") { provision, authority in
            provision.authority.signKeys = [SigningKey(
                kid: try #require(KeyID("k2")),
                key: authority.signKey.publicKey.rawRepresentation)]
        },
        .header("{\"alg\":\"none\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"),
        .header("{\"alg\":\"HS256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"),
        .header("{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"),
        .header("{\"alg\":\"EdDSA\",\"kid\":\"k1\",\"typ\":\"JWT\"}"),
        .header("{\"alg\":\"EdDSA\",\"kid\":\"k1\"}"),
        .header("{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\"}"),
        .header("{\"alg\":\"EdDSA\",\"crit\":[\"x\"],\"kid\":\"k1\",\"typ\":\"at+jwt\"}"),
        .claims("another session") { claims in
            if let id = ObjectID("Other00000") { claims.session = id }
        },
        .claims("another user") { claims in
            if let id = UserID("Other00000") { claims.subject = id }
        },
        .claims("another installation") { $0.installation = stranger },
        .claims("not restricted") { $0.restricted = false },
        .claims("that lives for more than an hour") {
            $0.expiresAt = $0.issuedAt + .seconds(3601)
        },
        .claims("that ends before it begins") { $0.expiresAt = $0.issuedAt },
        .claims("made in the future") { $0.issuedAt = $0.issuedAt + .seconds(61) },
        .claims("not valid yet") { $0.notBefore = $0.issuedAt + .seconds(61) },
        .claims("another device's key") { $0.deviceKey = KeyID(digest: Array(0..<32)) },
    ]

    @Test("changes nothing and is answered; the claim secret lives", arguments: faults)
    func refused(fault: Fault) throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let before = bench.store.text
        var provision = try bench.authority.provision()
        try fault.spoil(&provision, bench.authority)
        let id = MessageID.fresh()
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(provision), claim: claim, id: id)))
        #expect(effects.commits.isEmpty)
        #expect(bench.store.text == before)
        #expect(effects.states.isEmpty)
        let sent = try bench.sent(effects)
        #expect(sent.map(\.body.name) == ["rejected"])
        guard case .provisionRejected(let re, let error) = sent.first?.body else { return }
        #expect(re == id)
        #expect(error.is(.validation))
        // And the secret still serves.
        let good = try bench.authority.provision()
        let healed = bench.handle(
            .inbox(try bench.authority.seal(.provision(good), claim: claim)))
        #expect(healed.states == ["available"])
    }

    @Test("leaves the session that is there as it was", arguments: faults)
    func standing(fault: Fault) throws {
        var bench = try Bench()
        try bench.provision()
        let claim = try bench.pair(fresh: true)
        let before = bench.store.text
        var provision = try bench.authority.provision(session: "Session002")
        try fault.spoil(&provision, bench.authority)
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        #expect(effects.commits.isEmpty)
        #expect(bench.store.text == before)
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
    }

    @Test("with a key of small order is refused by name, and nothing is sealed for it")
    func smallOrder() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.authority.sealKey = [UInt8](repeating: 0, count: 32)
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        #expect(effects.commits.isEmpty && effects.states.isEmpty)
        #expect(try bench.sent(effects).isEmpty)
        #expect(effects.logs.contains { $0.contains("authority.sealKey") })
    }

    @Test("under a claim that has expired is refused")
    func expiredClaim() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        bench.pass(.seconds(86_400))
        let provision = try bench.authority.provision(at: bench.wall)
        let effects = bench.handle(.inbox(
            try bench.authority.seal(.provision(provision), claim: claim, at: bench.wall)))
        #expect(try bench.sent(effects).map(\.body.name) == ["rejected"])
        #expect(effects.commits.isEmpty)
    }

    @Test("cannot be opened, and is dropped without a word", arguments: 0..<7)
    func unopened(index: Int) throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let before = bench.store.text
        let body = AuthorityMessage.Body.provision(try bench.authority.provision())
        let payload: [UInt8] = switch index {
        case 0: try bench.authority.seal(body)
        case 1: try bench.authority.seal(body, claim: SecretBytes(Array(repeating: 1, count: 32)))
        case 2: try bench.authority.seal(body, claim: claim, topic: "postern/v1/other/inbox")
        case 3: Array(try bench.authority.seal(body, claim: claim).dropLast(20))
        case 4: try TestAuthority(board: try Bench().identity).seal(body, claim: claim)
        case 5: Array("{\"type\":\"provision\"}".utf8)
        default: try bench.authority.seal(
            .revoked(sequence: 1, session: try #require(ObjectID("Session001")), reason: "x"),
            claim: claim)
        }
        let effects = bench.handle(.inbox(payload))
        #expect(effects.spoken == [])
        #expect(effects.commits.isEmpty)
        #expect(bench.store.text == before)
        let status = bench.agent.status(at: bench.instant)
        #expect(status.asObject?["inboxDropped"] == .integer(1))
    }

    @Test("with any bit of its ciphertext turned is dropped")
    func flippedBits() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let payload = try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)
        for index in stride(from: 0, to: payload.count, by: 11) {
            var bytes = payload
            bytes[index] ^= 1
            if bench.handle(.inbox(bytes)).spoken != [] {
                Issue.record("a flipped bit at \(index) was answered")
            }
        }
        #expect(try bench.store.load().session == nil)
        #expect(bench.handle(.inbox(payload)).states == ["available"])
    }

    @Test("of no bytes is ignored")
    func empty() throws {
        var bench = try Bench()
        bench.handle(.started)
        #expect(bench.handle(.inbox([])).isEmpty)
    }
}
