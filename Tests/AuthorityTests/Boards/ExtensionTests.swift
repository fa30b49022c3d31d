import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("Extension", .everyStore)
struct ExtensionTests {
    @Test("moves the end within the limits", arguments: [
        (299, 142), (300, nil), (3600, nil), (30 * 86_400, nil), (30 * 86_400 + 1, 142),
        (365 * 86_400 + 1, 142), (0, 142), (-300, 142),
    ] as [(Int, Int?)])
    func limits(seconds: Int, code: Int?) async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada, duration: .seconds(300))
        let refused = await refusal {
            try await house.authority.extend(
                live.session, by: .seconds(seconds), shortens: false, by: ada)
        }
        #expect(refused?.code == code)
        let end = try await house.record(live.session)?.session.expiresAt
        #expect(end == house.clock.now + .seconds(code == nil ? seconds : 300))
        #expect(try await house.audit("session.extended").count == (code == nil ? 1 : 0))
    }

    @Test("never shortens without being told to, and says when the session ends")
    func shortening() async throws {
        let house = try await House(lifetimes: .device)
        let ada = try await house.login()
        let endless = try await house.provisioned(BoardDouble(), by: ada)
        let refused = await refusal {
            try await house.authority.extend(
                endless.session, by: .seconds(30 * 86_400), shortens: false, by: ada)
        }
        #expect(refused?.name == .wouldShorten)
        #expect(refused?.text == "the session ends 1 year after the board was last heard; "
            + "30 days from now would be earlier")
        #expect(try await house.record(endless.session)?.session.expiresAt == nil)
        let shortened = try await house.authority.extend(
            endless.session, by: .seconds(30 * 86_400), shortens: true, by: ada)
        let end = house.clock.now + .seconds(30 * 86_400)
        #expect(shortened.session.expiresAt == end)
        #expect(shortened.outlook?.endsAt == end && shortened.outlook?.cause == .expiry)
        let earlier = await refusal {
            try await house.authority.extend(
                endless.session, by: .seconds(29 * 86_400), shortens: false, by: ada)
        }
        #expect(earlier?.name == .wouldShorten)
        house.clock.advance(.seconds(1))
        let longer = try await house.authority.extend(
            endless.session, by: .seconds(30 * 86_400), shortens: false, by: ada)
        #expect(longer.session.expiresAt == end + .seconds(1))
    }

    @Test("is possible until the latest end, which each view has and a refusal says")
    func latestEnd() async throws {
        let house = try await House(lifetimes: .consumer)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada, duration: .seconds(3600))
        let view = try await house.authority.session(live.session, by: ada)
        let latest = try #require(view.latestEnd)
        #expect(latest == house.clock.now + .seconds(30 * 86_400))
        let refused = await refusal {
            try await house.authority.extend(
                live.session, by: .seconds(31 * 86_400), shortens: false, by: ada)
        }
        let day = ParseDate.print(latest).prefix(10)
        #expect(refused?.text.contains("it can last until \(day) ") == true)
        let pending = try await house.claim(BoardDouble(), by: ada)
        #expect(try await house.authority.session(pending.session, by: ada).latestEnd == nil)
        try await house.authority.revoke(live.session, by: ada)
        #expect(try await house.authority.session(live.session, by: ada).latestEnd == nil)
    }

    @Test("is sent to the board at once, and is in the log with its caller")
    func told() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada, duration: .seconds(300))
        _ = try await house.settle(live.board)
        _ = house.worker.woken()
        let view = try await house.authority.extend(
            live.session, by: .seconds(3600), shortens: false, by: ada)
        #expect(house.worker.woken() == [live.board.installation.description])
        let said = try await house.settle(live.board)
        #expect(said.count == 1)
        guard case .updated(let sequence, let session, nil) = try live.board.open(
            #require(said.first), from: live.sealKey).body
        else { throw NotThat() }
        #expect(sequence > live.provision.sequence && session == view.session)
        let entry = try #require(try await house.audit("session.extended").first)
        #expect(entry.actor == "ada" && entry.session == live.session)
        #expect(entry.board == live.board.installation)
    }

    @Test("by a board's heartbeat is in the log")
    func byBoard() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await live.ask(
            .authenticate(live.provision.tokens.session, durationMinutes: 60))
        let entries = try await house.audit("session.extended")
        #expect(entries.count == 1 && entries.first?.actor == "board")
        _ = try await live.authenticate()
        #expect(try await house.audit("session.extended").count == 1)
    }

    @Test("is for whom the session belongs to, and for what lives")
    func owners() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let pending = try await house.claim(BoardDouble(), by: ada)
        await expectRefusal(.notFound) {
            try await house.authority.extend(
                live.session, by: .seconds(600), shortens: true, by: bob)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.extend(
                pending.session, by: .seconds(600), shortens: true, by: ada)
        }
        let own = try await house.authority.extend(
            bob.session.objectID, by: .seconds(600), shortens: true, by: bob)
        #expect(own.generation == nil)
        try await house.authority.revoke(live.session, by: ada)
        await expectRefusal(.notFound) {
            try await house.authority.extend(
                live.session, by: .seconds(600), shortens: true, by: ada)
        }
    }

    @Test("and every view shows how often the refresh token was rotated")
    func generation() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        #expect(try await house.authority.session(live.session, by: ada).generation == 1)
        _ = try await live.ask(.refresh(live.provision.tokens.refresh))
        #expect(try await house.authority.session(live.session, by: ada).generation == 2)
        let boards = try await house.authority.boards(by: ada, everyone: false)
        #expect(boards.first?.session?.generation == 2)
        #expect(try await house.authority.session(ada.session.objectID, by: ada)
            .generation == nil)
    }
}
