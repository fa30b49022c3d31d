import AuthorityCore
import Sessions
import Testing
import Wire

/// A board whose session expired gets a new one from afar.
@Suite("Renewal", .everyStore)
struct RenewalTests {
    private let day = Duration.seconds(86_400)

    /// Bob's board with a scope; its session has expired.
    private func expired(
        _ lifetimes: LifetimePolicy = .consumer, after span: Duration = .seconds(30 * 86_400)
    ) async throws -> (house: House, bob: Caller, live: LiveBoard) {
        let house = try await House(lifetimes: lifetimes)
        let bob = try await house.addUser("bob")
        let scope = try ScopeDocument(written: Array(#"{"default":"deny"}"#.utf8))
        let live = try await house.provisioned(BoardDouble(), by: bob, scope: scope)
        house.clock.advance(span)
        #expect(try await house.authority.sweep() == false)
        return (house, try await house.login("bob"), live)
    }

    private func desired(_ live: LiveBoard) async throws -> DesiredBoard {
        try await live.house.authority.desiredState(for: live.board.installation)
    }

    private func renew(_ live: LiveBoard, by caller: Caller) async throws -> Claim {
        try await live.house.authority.renew(live.board.installation, nil, by: caller)
    }

    private func view(_ live: LiveBoard, by caller: Caller) async throws -> Board {
        try await live.house.authority.board(live.board.installation, by: caller).board
    }

    /// Takes the renewal that the inbox retains, as the board would.
    private func accept(_ live: LiveBoard) async throws -> LiveBoard {
        let payload = try #require(try await live.house.retained(live.board))
        let message = try live.board.open(payload, from: live.sealKey)
        guard case .provision(let provision) = message.body else { throw NotThat() }
        let renewed = LiveBoard(
            board: live.board, house: live.house, id: message.id, provision: provision)
        let answer = try await renewed.say(
            .provisionAccepted(re: message.id, session: renewed.session))
        #expect(answer == .silent)
        return renewed
    }

    @Test("gives the same user a session with the same scope, over the login that the board has")
    func renewed() async throws {
        let (house, bob, live) = try await expired()
        let login = try #require(try await desired(live).login)
        #expect(!login.mayPublishData)
        let before = try await view(live, by: bob)
        #expect(before.sessionEnd == "expired" && before.isRenewable && before.renewal == nil)
        let claim = try await renew(live, by: bob)
        #expect(claim.isRenewal && claim.state == .sent)
        #expect(claim.expiresAt == house.clock.now + day * 30)
        let waiting = try await view(live, by: bob)
        #expect(waiting.renewal?.id == claim.id && !waiting.isRenewable)
        #expect(try await desired(live).login?.mayPublishData == false)
        house.clock.advance(day * 20)
        let renewed = try await accept(live)
        let (old, new) = (live.provision, renewed.provision)
        #expect(new.session.user == old.session.user && new.session.objectID != live.session)
        #expect(new.scope == old.scope && new.broker?.password == nil)
        #expect(new.sequence > old.sequence)
        #expect(try await renewed.authenticate().result?.user?.username == "bob")
        #expect(try await live.authenticate().errorCode == 209)
        let after = try #require(try await desired(live).login)
        #expect(after.mayPublishData && after.password.matches(login.password))
        let later = try await house.login("bob")
        #expect(try await view(live, by: later).sessionEnd == nil)
        let entry = try #require(try await house.audit("board.renew").first)
        #expect(entry.actor == "bob" && entry.board == live.board.installation)
    }

    @Test("stays possible as long as the board is kept, and after its message was answered")
    func lasting() async throws {
        let (house, _, live) = try await expired(.device, after: .seconds(366 * 86_400))
        let message = try live.board.open(
            #require(try await house.retained(live.board)), from: live.sealKey)
        guard case .revoked(_, live.session, "expired") = message.body else { throw NotThat() }
        for _ in 0..<2 {
            _ = try await live.say(.sessionEnded(re: message.id, session: live.session))
        }
        #expect(try await house.audit("session.farewell").count == 1)
        #expect(try await house.retained(live.board) == nil)
        house.clock.advance(day * 400)
        while try await house.authority.sweep() {}
        #expect(try await desired(live).login?.mayPublishData == false)
        let bob = try await house.login("bob")
        #expect(try await renew(live, by: bob).state == .sent)
        #expect(try await accept(live).authenticate().result != nil)
    }

    @Test("stays when its user may claim no more")
    func denied() async throws {
        let (house, bob, live) = try await expired()
        let sent = try await renew(live, by: bob)
        let ada = try await house.login()
        _ = try await house.authority.change("bob", UserChange(mayClaim: false), by: ada)
        #expect(try await house.authority.claim(sent.id, by: bob).state == .sent)
        _ = try await accept(live)
    }

    @Test("is for the board's owner and for administrators")
    func owners() async throws {
        let (house, _, live) = try await expired()
        let eve = try await house.addUser("eve")
        await expectRefusal(.notFound) { try await renew(live, by: eve) }
        let device = try await house.device(by: house.login("bob")).caller
        await expectRefusal(.forbidden) { try await renew(live, by: device) }
        #expect(try await renew(live, by: house.login()).isRenewal)
        #expect(try await accept(live).authenticate().result?.user?.username == "bob")
    }

    @Test("is refused where it cannot help, with a sentence that says what does", arguments: [
        "alive", "revoked", "signed out", "disabled", "renewed", "given up",
    ])
    func refused(state: String) async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let board = live.board.installation
        var words = "pair it again: run `sudo postern-agent pair`"
        switch state {
        case "alive": words = "extend it"
        case "revoked": try await house.authority.revoke(live.session, by: bob)
        case "signed out": _ = try await live.ask(.revoke(live.provision.tokens.session))
        default:
            house.clock.advance(.seconds(30 * 86_400))
            #expect(try await house.authority.sweep() == false)
        }
        let asking = try await house.login()
        switch state {
        case "disabled":
            _ = try await house.authority.setEnabled(false, user: "bob", by: asking)
        case "renewed":
            _ = try await renew(live, by: asking)
            words = "a renewal waits"
        case "given up": try await house.authority.forgetRevocation(of: board, by: asking)
        default: break
        }
        let found = await refusal { try await renew(live, by: asking) }
        #expect(found?.text.contains(words) == true, "\(found?.text ?? "no refusal")")
        #expect(found?.is(.forbidden) == true)
        #expect(ada.user.username == "ada")
    }

    @Test("is cancelled as a claim is, and possible again")
    func cancelled() async throws {
        let (house, bob, live) = try await expired()
        let claim = try await renew(live, by: bob)
        try await house.authority.endClaim(claim.id, by: bob)
        let desired = try await desired(live)
        #expect(desired.retained == nil && desired.login?.mayPublishData == false)
        #expect(try await view(live, by: bob).isRenewable)
        #expect(try await renew(live, by: bob).id != claim.id)
    }

    @Test("ends with a revocation or a release: the board learns it, and then has no login",
          arguments: ["revoked", "released", "all revoked", "disabled", "new password"])
    func blocked(how: String) async throws {
        let (house, bob, live) = try await expired()
        let ada = try await house.login()
        _ = try await renew(live, by: bob)
        switch how {
        case "revoked": try await house.authority.revoke(live.session, by: bob)
        case "released": try await house.authority.release(live.board.installation, by: bob)
        case "all revoked":
            _ = try await house.authority.revokeAll(of: "bob", keepsBoards: false, by: ada)
        case "disabled": _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        default: try await newPassword(house, keepsBoards: false)
        }
        let message = try live.board.open(
            #require(try await house.retained(live.board)), from: live.sealKey)
        guard case .revoked(_, live.session, "revoked") = message.body else { throw NotThat() }
        await expectRefusal(how == "released" ? .notFound : .forbidden) {
            try await renew(live, by: ada)
        }
        _ = try await live.say(.sessionEnded(re: message.id, session: live.session))
        #expect(try await desired(live).login == nil)
    }

    private func newPassword(_ house: House, keepsBoards: Bool) async throws {
        try await house.authority.setPassword(
            SecretBytes("another password"), of: "bob", actor: "console",
            keepsBoards: keepsBoards)
    }

    @Test("outlasts a new password that keeps the boards")
    func kept() async throws {
        let (house, bob, live) = try await expired()
        _ = try await renew(live, by: bob)
        try await newPassword(house, keepsBoards: true)
        #expect(try await accept(live).authenticate().result != nil)
    }

    @Test("is over once a used refresh token comes back; a repeated request is none of that")
    func reuse() async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.addUser("bob"))
        let (spent, id) = (live.provision.tokens.refresh, try MessageID.fresh())
        #expect(try await live.ask(.refresh(spent), id: id).result != nil)
        for span in [day * 400, .seconds(3600)] {
            house.clock.advance(span)
            while try await house.authority.sweep() {}
        }
        let bob = try await house.login("bob")
        #expect(try await live.ask(.refresh(spent), id: id).errorCode == 209)
        #expect(try await view(live, by: bob).isRenewable)
        #expect(try await house.audit("session.reuse").isEmpty)
        _ = try await renew(live, by: bob)
        for _ in 0..<2 { #expect(try await live.ask(.refresh(spent)).errorCode == 209) }
        #expect(try await house.audit("session.reuse").count == 1)
        let message = try live.board.open(
            #require(try await house.retained(live.board)), from: live.sealKey)
        guard case .revoked(_, live.session, "reuse") = message.body else { throw NotThat() }
        await expectRefusal(.forbidden) { try await renew(live, by: bob) }
    }

    @Test("needs the right to claim, and keeps a name that the board was given meanwhile")
    func rights() async throws {
        let (house, bob, live) = try await expired()
        let ada = try await house.login()
        _ = try await house.authority.change("bob", UserChange(mayClaim: false), by: ada)
        await expectRefusal(.forbidden) { try await renew(live, by: bob) }
        _ = try await renew(live, by: ada)
        let name = try #require(BoardName("shed"))
        _ = try await house.authority.change(
            live.board.installation, BoardChange(name: name), by: bob)
        _ = try await accept(live)
        #expect(try await view(live, by: house.login("bob")).name == "shed")
    }

    @Test("that waits gives way to a person at the board; an unaccepted claim leaves the login")
    func claimed() async throws {
        let (house, bob, live) = try await expired()
        let login = try #require(try await desired(live).login)
        _ = try await renew(live, by: bob)
        let again = try live.board.pairedAnew()
        let claim = try await house.claim(again, by: bob)
        #expect(!claim.isRenewal)
        let during = try #require(try await desired(live).login)
        #expect(during.password.matches(try again.brokerPassword))
        try await house.authority.endClaim(claim.id, by: bob)
        #expect(try await desired(live).login?.password.matches(login.password) == true)
        #expect(try await renew(live, by: bob).isRenewal)
        #expect(try await accept(live).authenticate().result != nil)
    }
}
