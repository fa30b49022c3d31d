import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityCore

/// What is wrong with a token, and how the refusal says it.
struct Flaw: Sendable {
    let why: String
    let change: @Sendable (inout AccessTokenClaims) -> Void

    init(_ why: String, _ change: @escaping @Sendable (inout AccessTokenClaims) -> Void) {
        self.why = why
        self.change = change
    }
}

@Suite("Brought token", .everyStore)
struct TokenImportTests {
    @Test("that is known here turns its session into the board's")
    func known() async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.device(by: ada, custom: ["place": .string("porch")])
        let board = try BoardDouble()
        let order = order(board, made.opened.token, custom: ["more": .integer(1)])
        let claim = try await house.authority.claim(order, by: ada)
        #expect(claim.session == made.opened.session.objectID && claim.notes.isEmpty)
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(made.opened.token)
        }
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        #expect(provision.tokens.session.matches(made.opened.token))
        let session = provision.session
        #expect(session.createdWith == made.opened.session.createdWith)
        #expect(session.createdAt == made.opened.session.createdAt)
        #expect(session.expiresAt == made.opened.session.expiresAt)
        #expect(session.custom == ["place": .string("porch"), "more": .integer(1)])
        #expect(session.installationID == board.installation && session.restricted)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        #expect(try await live.authenticate().result?.session == session)
        #expect(try await live.ask(.refresh(provision.tokens.refresh)).result != nil)
    }

    @Test("is over if its claim fails")
    func failed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.device(by: ada)
        house.worker.fail(true)
        await #expect(throws: AuthorityError.failed(layer: "MQTT", text: "down")) {
            try await house.authority.claim(order(BoardDouble(), made.opened.token), by: ada)
        }
        house.worker.fail(false)
        #expect(try await house.record(made.opened.session.objectID)?.state == .ended)
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(made.opened.token)
        }
        await expectRefusal(.invalidSession) {
            try await house.authority.claim(order(BoardDouble(), made.opened.token), by: ada)
        }
    }

    @Test("that is another's, on a board, unrestricted or elsewhere is refused")
    func refused() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let elsewhere = try await house.device(by: ada, on: BoardDouble().installation)
        let login = try await house.authority.login(LoginAttempt(
            username: "ada", password: house.password, origin: "x"))
        for token in [
            try await house.device(by: bob).opened.token, live.provision.tokens.session,
            elsewhere.opened.token, login.token,
        ] {
            await expectRefusal(.forbidden) {
                try await house.authority.claim(order(BoardDouble(), token), by: ada)
            }
        }
        let over = try await house.device(by: ada)
        try await house.authority.logout(over.caller)
        await expectRefusal(.invalidSession) {
            try await house.authority.claim(order(BoardDouble(), over.opened.token), by: ada)
        }
        #expect(try await live.authenticate().result != nil)
        _ = try await house.authority.caller(elsewhere.opened.token)
    }

    @Test("lasts as long as its session, or less if that is wished")
    func duration() async throws {
        let house = try await House()
        let ada = try await house.login()
        let first = try await house.device(by: ada)
        let second = try await house.device(by: ada)
        house.clock.advance(.seconds(86_400))
        _ = try await house.authority.caller(first.opened.token)
        func order(_ made: LoggedIn, _ days: Int?) throws -> ClaimOrder {
            ClaimOrder(
                url: try BoardDouble().url(), duration: days.map { .seconds($0 * 86_400) },
                scope: nil, imported: ImportedTokens(session: made.token, access: nil))
        }
        await expectRefusal(.validation) {
            try await house.authority.claim(order(first.opened, 30), by: ada)
        }
        let claim = try await house.authority.claim(order(first.opened, 2), by: ada)
        #expect(try await house.record(claim.session)?.session.expiresAt
            == house.clock.now + .seconds(2 * 86_400))
        let other = try await house.authority.claim(order(second.opened, nil), by: ada)
        #expect(try await house.record(other.session)?.session.expiresAt
            == second.opened.session.expiresAt)
    }

    @Test("that nobody knows is taken as it is, and the claimant is told so")
    func foreign() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let token = try #require(SessionToken("r:made-by-another-backend"))
        let claim = try await house.authority.claim(order(board, token), by: ada)
        #expect(claim.notes.count == 1 && claim.notes.first?.contains("validate") == true)
        #expect(claim.notes.allSatisfy { !$0.contains("another-backend") })
        #expect(try await house.authority.claim(claim.id, by: ada).notes == claim.notes)
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        #expect(provision.tokens.session.matches(token) && provision.session.restricted)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        #expect(try await live.authenticate().result?.session?.objectID == claim.session)
        // The same token stands for one session only.
        await expectRefusal(.forbidden) {
            try await house.authority.claim(order(BoardDouble(), token), by: ada)
        }
        try await house.authority.revoke(claim.session, by: ada)
        #expect(try await live.authenticate().errorCode == 209)
    }

    @Test("that nobody here knows may be brought again when its claim has failed")
    func again() async throws {
        let house = try await House()
        let ada = try await house.login()
        let token = try #require(SessionToken("r:made-by-another-backend"))
        let failed = try await house.authority.claim(order(BoardDouble(), token), by: ada)
        try await house.authority.revoke(failed.session, by: ada)
        let board = try BoardDouble()
        let claim = try await house.authority.claim(order(board, token), by: ada)
        #expect(claim.session != failed.session && claim.notes.count == 1)
        let (_, provision) = try board.openProvision(#require(try await house.retained(board)))
        #expect(provision.tokens.session.matches(token))
    }

    @Test("comes with an access token that names its session, if that is ours")
    func access() async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.device(by: ada)
        for (token, session) in [
            (made.opened.token, made.opened.session.objectID),
            (try #require(SessionToken("r:made-elsewhere")), try #require(ObjectID("fReE000001"))),
        ] {
            let board = try BoardDouble()
            let access = try house.sign(try house.claims(board, ada, session))
            let claim = try await house.authority.claim(
                order(board, token, access), by: ada)
            #expect(claim.session == session)
            let (id, provision) = try board.openProvision(
                #require(try await house.retained(board)))
            #expect(provision.tokens.access.matches(access))
            let live = LiveBoard(board: board, house: house, id: id, provision: provision)
            #expect(try await live.authenticate().result?.session?.objectID == session)
        }
    }

    @Test("with an access token that cannot be validated provisions nothing, and says why",
          arguments: [
              Flaw("another authority") { $0.issuer = "https://other.example" },
              Flaw("another user") { $0.subject = UserID("someOther1") ?? $0.subject },
              Flaw("another board") { $0.installation = InstallationID(random: [UInt8](0..<16)) },
              Flaw("device key") { $0.deviceKey = KeyID("AAAAAAAAAAA") ?? $0.deviceKey },
              Flaw("not restricted") { $0.restricted = false },
              Flaw("not valid yet") { $0.notBefore = $0.issuedAt + .seconds(1) },
              Flaw("expired") {
                  $0.issuedAt = $0.issuedAt + .seconds(-10)
                  $0.expiresAt = $0.issuedAt + .seconds(5)
              },
              Flaw("another session") { $0.session = ObjectID("oThEr00001") ?? $0.session },
          ])
    func invalid(flaw: Flaw) async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.device(by: ada)
        let board = try BoardDouble()
        var claims = try house.claims(board, ada, made.opened.session.objectID)
        flaw.change(&claims)
        try await expectInvalid(
            house, ada, board, made.opened.token, house.sign(claims), flaw.why)
        _ = try await house.authority.caller(made.opened.token)
    }

    @Test("with an access token of another key, kind or session is as good as none",
          arguments: ["none's", "signature", "type", "JWT", "not that of"])
    func notOurs(why: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.device(by: ada)
        let board = try BoardDouble()
        let good = try house.claims(board, ada, made.opened.session.objectID)
        let stranger = try Ed25519PrivateKey()
        let own = house.keys.signing.publicKey.kid
        let header = AccessTokenHeader(kid: own).bytes
        let text = switch why {
        case "none's":
            try JWS.sign(
                header: AccessTokenHeader(kid: stranger.publicKey.keyID).bytes,
                payload: good.bytes, with: stranger)
        case "signature": try JWS.sign(header: header, payload: good.bytes, with: stranger)
        case "type":
            try JWS.sign(
                header: Array(#"{"alg":"EdDSA","typ":"JWT","kid":"\#(own)"}"#.utf8),
                payload: good.bytes, with: stranger)
        case "JWT": "no.token"
        default: try house.sign(good).reveal()
        }
        let token = why == "not that of"
            ? try #require(SessionToken("r:made-elsewhere")) : made.opened.token
        try await expectInvalid(
            house, ada, board, token, #require(AccessToken(text)),
            why == "none's" ? "does not belong to this authority" : why)
    }

    private func expectInvalid(
        _ house: House, _ caller: Caller, _ board: BoardDouble, _ token: SessionToken,
        _ access: AccessToken, _ why: String
    ) async throws {
        let order = order(board, token, access)
        let refused = await refusal { try await house.authority.claim(order, by: caller) }
        #expect(refused?.is(.validation) == true)
        #expect(refused?.text.contains(why) == true, "\(refused?.text ?? "done")")
        #expect(refused?.text.contains(access.reveal()) == false)
        #expect(try await house.retained(board) == nil)
        #expect(try await house.claim(board, by: caller).state == .sent)
    }

    private func order(
        _ board: BoardDouble, _ token: SessionToken, _ access: AccessToken? = nil,
        custom: [String: JSONValue] = [:]
    ) -> ClaimOrder {
        ClaimOrder(
            url: board.url(), duration: nil, scope: nil, custom: custom,
            imported: ImportedTokens(session: token, access: access))
    }
}

extension House {
    /// The claims of an access token that fits a board.
    fileprivate func claims(
        _ board: BoardDouble, _ caller: Caller, _ session: ObjectID
    ) throws -> AccessTokenClaims {
        AccessTokenClaims(
            issuer: authority.info.publicURL, subject: caller.user.objectID,
            issuedAt: clock.now, expiresAt: clock.now + .seconds(600),
            tokenID: "\(try MessageID.fresh())", session: session,
            installation: board.installation, scope: nil,
            deviceKey: board.key.publicKey.keyID)
    }

    fileprivate func sign(_ claims: AccessTokenClaims) throws -> AccessToken {
        try authority.cryptography.sign(claims, with: keys.signing)
    }
}
