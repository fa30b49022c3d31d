import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Session's end", .everyStore)
struct EndingTests {
    @Test("by revocation is told retained, closes data, and is over when the board says so")
    func revoked() async throws {
        let (house, ada, live) = try await fixture()
        try await house.authority.revoke(live.session, by: ada)
        #expect(try await live.authenticate().errorCode == 209)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login?.mayPublishData == false)
        let message = try live.board.open(
            #require(desired.retained?.payload), from: live.sealKey)
        guard case .revoked(let sequence, live.session, "revoked") = message.body else {
            throw NotThat()
        }
        #expect(sequence > live.provision.sequence)
        for _ in 0..<2 {
            let answer = try await live.say(.sessionEnded(re: message.id, session: live.session))
            #expect(answer == .silent)
        }
        let after = try await house.authority.desiredState(for: live.board.installation)
        #expect(after.login == nil && after.retained == nil)
        #expect(try await house.audit("session.farewell").count == 1)
        #expect(try await house.authority.sessions(by: ada, everyone: true)
            .allSatisfy { $0.session.objectID != live.session })
    }

    @Test("takes it from Parse's routes at once, whatever its board does")
    func gone() async throws {
        let (house, ada, live) = try await fixture()
        house.worker.fail(true)
        let opened = try await house.authority.login(
            LoginAttempt(username: "ada", password: house.password, origin: "x"))
        let token = opened.token.reveal()
        let device = try await house.device(by: ada).opened.session.objectID
        try await HTTPHouse.with(house) { http in
            func send(_ method: String, _ path: String) async throws -> HTTPHouse.Reply {
                try await Way.direct.send(http, method, "/parse/sessions\(path)", token: token)
            }
            let before = try await send("GET", "?count=1").members["count"]?.asInteger
            for id in [live.session, device] {
                #expect(try await send("GET", "/\(id)").status == 200)
                #expect(try await send("DELETE", "/\(id)").status == 200)
                for method in ["GET", "DELETE"] {
                    #expect(try await send(method, "/\(id)").code == 101)
                }
                for list in [
                    try await send("GET", ""), try await send("GET", "?order=createdAt"),
                    try await send("GET", "?everyone=true"),
                ] {
                    #expect(list.results.allSatisfy { $0["objectId"] != .string("\(id)") })
                }
            }
            let after = try await send("GET", "?count=1&limit=0").members["count"]?.asInteger
            #expect(after == before.map { $0 - 2 })
        }
        // Their owner still sees in the console that the board does not know.
        #expect(try await house.authority.sessions(by: ada, everyone: false)
            .contains { $0.session.objectID == live.session })
    }

    @Test("says whether the broker was told of it, and stands either way")
    func untold() async throws {
        let (house, ada, live) = try await fixture()
        house.worker.fail(true)
        #expect(try await !house.authority.revoke(live.session, by: ada))
        #expect(try await live.authenticate().errorCode == 209)
        #expect(house.worker.woken().contains(live.board.installation.description))
        house.worker.fail(false)
        #expect(try await house.authority.revoke(live.session, by: ada))
    }

    @Test("unanswered takes the login away when the session would have ended")
    func unanswered() async throws {
        let (house, ada, live) = try await fixture()
        try await house.authority.revoke(live.session, by: ada)
        house.clock.advance(.seconds(30 * 86_400))
        #expect(try await house.authority.sweep() == false)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login == nil && desired.retained == nil)
    }

    @Test("that a board claims without being told is not believed")
    func unasked() async throws {
        let (_, _, live) = try await fixture()
        _ = try await live.say(.sessionEnded(re: try .fresh(), session: live.session))
        #expect(try await live.authenticate().result != nil)
    }

    @Test("by signing out leaves the board its login until a lost reply could be repeated")
    func signOut() async throws {
        let (house, _, live) = try await fixture()
        let payload = try live.payload(.revoke(live.provision.tokens.session))
        let first = try await house.authority.handle(payload, from: live.board.installation)
        #expect(try live.reply(in: first).result != nil)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login?.mayPublishData == false && desired.retained == nil)
        let again = try await house.authority.handle(payload, from: live.board.installation)
        #expect(again == first)
        house.clock.advance(.seconds(601))
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.authority.desiredState(for: live.board.installation).login == nil)
    }

    @Test("before acceptance clears the provisioning and its login")
    func cancelled() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.claim(board, by: ada)
        let payload = try #require(try await house.retained(board))
        try await house.authority.revoke(claim.session, by: ada)
        let desired = try await house.authority.desiredState(for: board.installation)
        #expect(desired.login == nil && desired.retained == nil)
        #expect(try await house.authority.claim(claim.id, by: ada).state == .cancelled)
        let (id, provision) = try board.openProvision(payload)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        // The board took it anyway: nobody knows it any more.
        let answer = try await live.say(.provisionAccepted(re: id, session: live.session))
        #expect(answer == .dropped(.unknownBoard))
    }

    @Test("while a new claim waits is said at once, and the provisioning stays retained")
    func revokedBesideClaim() async throws {
        let (house, ada, live) = try await fixture()
        let again = try live.board.pairedAnew()
        _ = try await house.claim(again, by: ada)
        try await house.authority.revoke(live.session, by: ada)
        let said = try await house.authority.jobs(in: live.board.installation.description)
            .compactMap { job in
                if case .say(_, let payload, _) = job.job { payload } else { nil }
            }
        let message = try live.board.open(#require(said.first), from: live.sealKey)
        guard case .revoked(_, live.session, _) = message.body else { throw NotThat() }
        let payload = try #require(try await house.retained(again))
        let (id, provision) = try again.openProvision(payload)
        let new = LiveBoard(board: again, house: house, id: id, provision: provision)
        _ = try await new.say(.provisionAccepted(re: id, session: new.session))
        #expect(try await new.authenticate().result != nil)
        let desired = try await house.authority.desiredState(for: again.installation)
        #expect(desired.login?.mayPublishData == true && desired.retained == nil)
    }

    @Test("is for its owner and administrators only")
    func foreign() async throws {
        let (house, ada, live) = try await fixture()
        let bob = try await house.addUser("bob")
        await expectRefusal(.notFound) {
            try await house.authority.revoke(live.session, by: bob)
        }
        await expectRefusal(.notFound) {
            try await house.authority.session(live.session, by: bob)
        }
        await expectRefusal(.notFound) {
            try await house.authority.release(live.board.installation, by: bob)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.sessions(by: bob, everyone: true)
        }
        #expect(try await house.authority.sessions(by: bob, everyone: false).count == 1)
        let bobs = try await house.provisioned(BoardDouble(), by: bob)
        try await house.authority.revoke(bobs.session, by: ada)
        #expect(try await bobs.authenticate().errorCode == 209)
    }

    private func fixture() async throws -> (House, Caller, LiveBoard) {
        let house = try await House()
        let ada = try await house.login()
        return (house, ada, try await house.provisioned(BoardDouble(), by: ada))
    }

    @Test("has its inbox cleared again at a broker that an older backup came back to")
    func staleInbox() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let line = board.installation.description
        let claim = try await house.claim(board, by: ada)
        try await house.authority.revoke(claim.session, by: ada)
        for job in try await house.authority.jobs(in: line) {
            try await house.authority.done(job)
        }
        try await house.authority.restoreRetained()
        let jobs = try await house.authority.jobs(in: line).map(\.job)
        #expect(jobs == [.inbox(board.installation)])
        #expect(try await house.retained(board) == nil)
    }
}
