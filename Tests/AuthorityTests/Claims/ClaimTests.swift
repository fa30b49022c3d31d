import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Claim", .everyStore)
struct ClaimTests {
    @Test("makes a session that lives once the board accepts it")
    func accepted() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.claim(board, by: ada)
        #expect(claim.state == .sent)
        let desired = try await house.authority.desiredState(for: board.installation)
        #expect(try desired.login?.password.matches(board.brokerPassword) == true)
        #expect(try await house.authority.boards(by: ada, everyone: false).isEmpty)

        let (id, provision) = try board.openProvision(#require(desired.retained?.payload))
        #expect(id == claim.id)
        #expect(provision.session.restricted && provision.session.user == ada.user.objectID)
        #expect(provision.broker?.password != nil)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        for _ in 0..<2 {
            let answer = try await live.say(.provisionAccepted(re: id, session: live.session))
            #expect(answer == .silent)
        }
        #expect(try await house.authority.claim(id, by: ada).state == .accepted)
        let boards = try await house.authority.boards(by: ada, everyone: false)
        #expect(boards.map(\.session?.state) == [.active])
        let after = try await house.authority.desiredState(for: board.installation)
        #expect(after.retained == nil)
        #expect(after.login?.password.matches(try #require(provision.broker?.password)) == true)
        #expect(try await house.audit("claim.accepted").count == 1)
    }

    @Test("takes any request with the new token as acceptance")
    func implied() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.claim(board, by: ada)
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        #expect(try await live.authenticate().result?.session?.objectID == claim.session)
        #expect(try await house.authority.claim(id, by: ada).state == .accepted)
    }

    @Test("is refused to whoever may not claim")
    func forbidden() async throws {
        let house = try await House()
        let eve = try await house.addUser("eve", mayClaim: false)
        await expectRefusal(.forbidden) { try await house.claim(try BoardDouble(), by: eve) }
    }

    @Test("is ended when its claimant may claim no more, and is not accepted later")
    func denied() async throws {
        let house = try await House()
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        _ = try await house.provisioned(try BoardDouble(), by: eve)
        _ = try await house.claim(board, by: eve)
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        _ = try await house.authority.change("eve", UserChange(mayClaim: false), by: ada)
        #expect(try await house.authority.claim(id, by: eve).state == .cancelled)
        #expect(try await house.retained(board) == nil)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        _ = try await live.say(.provisionAccepted(re: id, session: live.session))
        #expect(try await house.authority.claim(id, by: eve).state == .cancelled)
        let boards = try await house.authority.boards(by: eve, everyone: false)
        #expect(boards.map(\.session?.state) == [.active])
    }

    @Test("is refused for another authority", arguments: [
        "https://other.example/claim", "https://authority.example.evil/claim",
        "https://authority.example/other", "http://authority.example/claim", "javascript:x",
    ])
    func elsewhere(base: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        await expectRefusal(.validation) {
            try await house.claim(try BoardDouble(), by: ada, base: base)
        }
    }

    @Test("passes this authority's own page", arguments: [
        "postern://claim", "https://authority.example/claim", "https://Authority.example/claim/",
    ])
    func here(base: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        #expect(try await house.claim(try BoardDouble(), by: ada, base: base).state == .sent)
    }

    @Test("is refused outside its times", arguments: [299, 31 * 86_400, 366 * 86_400, 0, -1])
    func durations(seconds: Int) async throws {
        let house = try await House()
        let ada = try await house.login()
        await expectRefusal(.validation) {
            try await house.claim(try BoardDouble(), by: ada, duration: .seconds(seconds))
        }
    }

    @Test("is refused while another of that board is open, and not after")
    func second() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let first = try await house.claim(board, by: ada)
        await expectRefusal(.forbidden) { try await house.claim(board.pairedAnew(), by: ada) }
        house.clock.advance(.seconds(86_401))
        #expect(try await house.claim(board.pairedAnew(), by: ada).state == .sent)
        #expect(try await house.authority.claim(first.id, by: ada).state == .expired)
    }

    @Test("is won by one of many at once")
    func race() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let won = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    (try? await house.claim(board.pairedAnew(), by: ada)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(won == 1)
    }

    @Test("is refused with a secret that has served")
    func used() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: ada)
        await expectRefusal(.forbidden) { try await house.claim(board, by: ada) }
    }

    @Test("of a board that is let go narrows the old owner's login to the broker at once")
    func released() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        #expect(try await house.authority.brokerLogin(by: bob).filters.count == 2)
        _ = house.worker.woken()
        try await house.authority.release(live.board.installation, by: bob)
        #expect(house.worker.woken().contains(bob.session.objectID.description))
        #expect(try await house.authority.desiredState(for: .person(session: bob.session.objectID))?
            .filters.isEmpty == true)
    }

    @Test("is refused with another key, until the owner releases the board")
    func otherKey() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: ada)
        let other = try BoardDouble(installation: board.installation)
        await expectRefusal(.forbidden) { try await house.claim(other, by: ada) }
        try await house.authority.release(board.installation, by: ada)
        #expect(try await house.claim(other, by: ada).state == .sent)
    }

    @Test("with a key of small order is refused and leaves nothing open")
    func smallOrder() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let url = ClaimURL(
            base: ClaimURL.defaultBase, installation: board.installation,
            deviceKey: [UInt8](repeating: 0, count: 32), secret: board.secret, name: "x")
        await expectRefusal(.validation) {
            try await house.authority.claim(
                ClaimOrder(url: url, duration: nil, scope: nil), by: ada)
        }
        #expect(try await house.claim(board, by: ada).state == .sent)
    }

    @Test("leaves a living session alone until it is accepted")
    func whileAlive() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let board = try BoardDouble()
        let old = try await house.provisioned(board, by: bob)
        let before = try await house.authority.desiredState(for: board.installation).login
        for caller in [ada, bob] { _ = try await house.authority.brokerLogin(by: caller) }
        _ = house.worker.woken()
        let again = try board.pairedAnew()
        // An administrator may claim anyone's board.
        _ = try await house.claim(again, by: ada)
        let during = try await house.authority.desiredState(for: board.installation)
        #expect(during.login?.password.matches(try #require(before?.password)) == true)
        #expect(try await old.authenticate().result != nil)

        let (id, provision) = try again.openProvision(#require(during.retained?.payload))
        #expect(provision.broker == nil)
        let new = LiveBoard(board: again, house: house, id: id, provision: provision)
        _ = try await new.say(.provisionAccepted(re: id, session: new.session))
        #expect(house.worker.woken().contains(bob.session.objectID.description))
        #expect(try await house.authority.desiredState(for: .person(session: ada.session.objectID))?
            .filters == house.administratorFilters)
        #expect(try await house.authority.desiredState(for: .person(session: bob.session.objectID))?
            .filters.isEmpty == true)
        #expect(try await old.authenticate().errorCode == 209)
        #expect(try await new.authenticate().result?.user?.username == "ada")
        #expect(try await house.authority.boards(by: bob, everyone: false).isEmpty)
        #expect(try await house.authority.boards(by: ada, everyone: false).count == 1)
    }

    @Test("that the board rejects lets it be claimed again with the same secret")
    func rejected() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.claim(board, by: ada)
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        _ = try await live.say(.provisionRejected(re: id, error: Refusal(.quota, "no room")))
        let view = try await house.authority.claim(claim.id, by: ada)
        #expect(view.state == .rejected && view.reason?.code == 140)
        #expect(try await house.retained(board) == nil)
        #expect(try await house.authority.desiredState(for: board.installation).login == nil)
        #expect(try await house.claim(board, by: ada).state == .sent)
    }

    @Test("that the broker could not be told is withdrawn and may be tried again")
    func brokerDown() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        house.worker.fail(true)
        await #expect(throws: AuthorityError.failed(layer: "MQTT", text: "down")) {
            try await house.claim(board, by: ada)
        }
        house.worker.fail(false)
        #expect(try await house.claim(board, by: ada).state == .sent)
    }

    @Test("that expires unanswered takes its login away")
    func expired() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.claim(board, by: ada)
        house.clock.advance(.seconds(86_400 + 601))
        #expect(try await house.authority.sweep() == false)
        let desired = try await house.authority.desiredState(for: board.installation)
        #expect(desired.login == nil && desired.retained == nil)
        let caller = try await house.login()
        #expect(try await house.authority.claim(claim.id, by: caller).state == .expired)
    }
}

/// Runs `body`, which must be refused with `code`.
func expectRefusal<R>(
    _ code: ErrorCode, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> R
) async {
    do {
        _ = try await body()
        Issue.record("it was not refused", sourceLocation: sourceLocation)
    } catch AuthorityError.refused(let refusal) {
        #expect(refusal.is(code), "\(refusal)", sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}

/// Why `body` was refused; nil if it was done, or failed.
func refusal<R>(_ body: () async throws -> R) async -> Refusal? {
    do {
        _ = try await body()
        return nil
    } catch AuthorityError.refused(let refusal) {
        return refusal
    } catch {
        Issue.record("\(error)")
        return nil
    }
}
