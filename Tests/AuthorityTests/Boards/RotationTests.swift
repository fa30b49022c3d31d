import AuthorityStore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityCore
@testable import AuthorityService

@Suite("Rotation", .everyStore)
struct RotationTests {
    @Test("gives one successor after the other")
    func chain() async throws {
        let (_, live) = try await fixture()
        var token = live.provision.tokens.refresh
        for _ in 0..<5 {
            let result = try await live.ask(.refresh(token)).result
            let next = try #require(result?.refreshToken)
            #expect(!next.matches(token))
            #expect(result?.accessToken != nil && result?.session?.objectID == live.session)
            token = next
        }
    }

    @Test("answers a lost reply with the same successor, however late", arguments: 1...3)
    func lostReply(times: Int) async throws {
        let (house, live) = try await fixture()
        let id = try MessageID.fresh()
        let first = try await live.ask(.refresh(live.provision.tokens.refresh), id: id)
        let successor = try #require(first.result?.refreshToken)
        for _ in 0..<times {
            house.clock.advance(.seconds(86_400))
            #expect(try await house.authority.sweep() == false)
            let again = try await live.ask(.refresh(live.provision.tokens.refresh), id: id)
            #expect(again.result?.refreshToken?.matches(successor) == true)
        }
        #expect(try await live.ask(.refresh(successor)).result != nil)
    }

    @Test("keeps a spent request's reply for late redeliveries, and then it is theft no more")
    func lateRedelivery() async throws {
        let (house, live) = try await fixture()
        let payload = try live.payload(.refresh(live.provision.tokens.refresh))
        let first = try await house.authority.handle(payload, from: live.board.installation)
        let next = try #require(try live.reply(in: first).result?.refreshToken)
        _ = try await live.ask(.refresh(next))
        let late = try await house.authority.handle(payload, from: live.board.installation)
        #expect(late == first)
        house.clock.advance(.seconds(3600))
        #expect(try await house.authority.sweep() == false)
        // A recorded request is by now too old for its token to be looked at.
        let stale = try await house.authority.handle(payload, from: live.board.installation)
        #expect(try live.reply(in: stale).errorCode == 142)
        #expect(try await house.audit("session.reuse").isEmpty)
    }

    @Test("ends the family when a spent token comes back", arguments: 0...2)
    func reuse(uses: Int) async throws {
        let (house, live) = try await fixture()
        let stolen = live.provision.tokens.refresh
        var token = try #require(try await live.ask(.refresh(stolen)).result?.refreshToken)
        for _ in 0..<uses {
            token = try #require(try await live.ask(.refresh(token)).result?.refreshToken)
        }
        #expect(try await live.ask(.refresh(stolen)).errorCode == 209)
        #expect(try await live.ask(.refresh(token)).errorCode == 209)
        #expect(try await live.authenticate().errorCode == 209)
        let entries = try await house.audit("session.reuse")
        #expect(entries.count == 1 && entries.first?.session == live.session)
        let notice = try #require(try await house.retained(live.board))
        guard case .revoked(_, let session, let reason) = try live.board.open(
            notice, from: live.sealKey).body
        else { throw NotThat() }
        #expect(session == live.session && reason == "reuse")
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login?.mayPublishData == false)
    }

    @Test("lets one of fifty at once win, and takes the others for theft")
    func concurrent() async throws {
        let (house, live) = try await fixture()
        let replies = await withTaskGroup(of: Reply?.self) { group in
            for _ in 0..<50 {
                group.addTask { try? await live.ask(.refresh(live.provision.tokens.refresh)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(replies.compactMap { $0?.result?.refreshToken }.count == 1)
        #expect(replies.compactMap { $0?.errorCode }.filter { $0 == 209 }.count == 49)
        #expect(try await house.audit("session.reuse").count == 1)
    }

    @Test("gives fifty at once of one request the one successor")
    func concurrentRepeats() async throws {
        let (house, live) = try await fixture()
        let payload = try live.payload(.refresh(live.provision.tokens.refresh))
        let answers = await withTaskGroup(of: BoardAnswer?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try? await house.authority.handle(payload, from: live.board.installation)
                }
            }
            return await group.reduce(into: Set<[UInt8]>()) { all, answer in
                if case .reply(let payload) = answer { all.insert(payload) }
            }
        }
        #expect(answers.count == 1)
        #expect(try await live.authenticate().result != nil)
    }

    @Test("of a token that is ahead, or of an unknown family, is an alarm and never theft")
    func restoredBackup() async throws {
        let (house, live) = try await fixture()
        let format = RefreshTokenFormat(
            cryptography: SystemCryptography(), key: try await refreshKey(of: house))
        let family = try #require(
            try format.read(live.provision.tokens.refresh)?.family)
        let strange = try #require(RefreshFamilyID([UInt8](repeating: 7, count: 16)))
        for token in [
            try format.token(family: family, generation: 2),
            try format.token(family: family, generation: .max),
            try format.token(family: strange, generation: 1),
        ] {
            #expect(try await live.ask(.refresh(token)).errorCode == 101)
        }
        #expect(try await house.audit("alarm.refresh").count == 1)
        #expect(try await house.authority.aheadBoards().map(\.sign) == [.refresh])
        #expect(try await live.ask(.refresh(live.provision.tokens.refresh)).result != nil)
    }

    @Test("by a token that nobody issued is 209, noted, and harms no session")
    func forged() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let token = try #require(RefreshToken("rt:" + String(repeating: "A", count: 75)))
        #expect(try await live.ask(.refresh(token)).errorCode == 209)
        #expect(try await house.audit("refresh.forged").count == 1)
        #expect(try await house.audit("alarm.refresh").isEmpty)
        #expect(try await live.authenticate().result != nil)
    }

    @Test("and a revocation at once leave no token that is good", arguments: 0..<5)
    func againstRevocation(round: Int) async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let replies = await withTaskGroup(of: Reply?.self) { group in
            for index in 0..<20 {
                if index == 4 * round {
                    group.addTask {
                        _ = try? await house.authority.revoke(live.session, by: ada)
                        return nil
                    }
                }
                group.addTask { try? await live.ask(.user(live.provision.tokens.session)) }
            }
            group.addTask { try? await live.ask(.refresh(live.provision.tokens.refresh)) }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for token in replies.compactMap({ $0?.result?.refreshToken })
            + [live.provision.tokens.refresh]
        {
            #expect(try await live.ask(.refresh(token)).errorCode == 209)
        }
        #expect(try await live.authenticate().errorCode == 209)
        #expect(try await house.record(live.session)?.state == .ended)
        #expect(try await house.retained(live.board) != nil)
    }

    @Test("consumes nothing when the store fails")
    func storeFails() async throws {
        let (house, live) = try await fixture()
        try house.store.close()
        await #expect(throws: AuthorityError.self) {
            try await live.ask(.refresh(live.provision.tokens.refresh))
        }
    }

    private func refreshKey(of house: House) async throws -> SecretBytes {
        try KeyRing.read(await StateFolder(path: "").records(of: house.store)).refresh
    }

    private func fixture() async throws -> (House, LiveBoard) {
        let house = try await House()
        let ada = try await house.login()
        return (house, try await house.provisioned(BoardDouble(), by: ada))
    }
}
