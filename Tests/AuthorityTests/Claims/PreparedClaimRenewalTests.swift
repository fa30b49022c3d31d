import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// Boards that make a new claim secret while they wait, and boards that are known already.
/// Source: the wire contract, Prepared claims.
@Suite("Renewed claim secrets", .everyStore)
struct PreparedClaimRenewalTests {
    @Test("reach an accepted board, because its claim is made again")
    func afterAcceptance() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (file, board) = (try await house.prepare(by: ada), try BoardDouble())
        let old = try file.joinPayload(of: board, at: house.clock.now)
        _ = try await house.authority.handle(old, from: file.id)
        _ = try await house.authority.acceptPreparedClaim(file.id, by: ada)
        // A second board since the acceptance does not undo it.
        try await house.join(file, BoardDouble())
        let renewed = try board.pairedAnew()
        try await house.join(file, renewed)
        #expect(house.worker.woken().contains(board.installation.description))
        #expect(try await house.prepared(file).state == .accepted)
        #expect(try await house.authority.openClaims(by: ada, everyone: false).count == 1)
        #expect(try await house.authority.handle(old, from: file.id) == .silent)
        let live = try await house.takeProvision(renewed)
        #expect(try await live.authenticate().result != nil)
        // A board with its session has no use for another secret.
        house.clock.advance(.seconds(60))
        try await house.join(file, board.pairedAnew())
        #expect(try await live.authenticate().result != nil)
        #expect(try await house.authority.openClaims(by: ada, everyone: false).isEmpty)
    }

    @Test("are taken at most once a minute")
    func rate() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (file, board) = (try await house.prepare(by: ada), try BoardDouble())
        try await house.join(file, board)
        let (second, third) = (try board.pairedAnew(), try board.pairedAnew())
        try await house.join(file, second)
        house.clock.advance(.seconds(59))
        try await house.join(file, third)
        _ = try await house.authority.acceptPreparedClaim(file.id, by: ada)
        let payload = try #require(try await house.retained(board))
        #expect(throws: (any Error).self) { try third.openProvision(payload) }
        house.clock.advance(.seconds(1))
        try await house.join(file, third)
        _ = try await house.takeProvision(third)
    }

    @Test("a known board is left to a person")
    func known() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        let file = try await house.prepare(by: ada, PreparedClaimOrder(acceptsAtOnce: true))
        let again = try board.pairedAnew()
        try await house.join(file, again)
        let view = try await house.prepared(file)
        #expect(view.state == .asking && !view.acceptsAtOnce && view.board?.isKnown == true)
        #expect(try await live.authenticate().result != nil)
        _ = try await house.authority.acceptPreparedClaim(file.id, by: ada)
        _ = try await house.takeProvision(again)
    }

    @Test("another user's board is refused to an administrator, too")
    func foreign() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: bob)
        let file = try await house.prepare(by: ada)
        try await house.join(file, board.pairedAnew())
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(file.id, by: ada)
        }
        #expect(try await live.authenticate().result != nil)
    }

    @Test("requests are heard under load, but not when the authority drowns")
    func load() async throws {
        let house = try await House()
        let file = try await house.prepare(by: house.login())
        let payload = try file.joinPayload(of: BoardDouble(), at: house.clock.now)
        func triaged(_ id: InstallationID, _ level: LoadLevel) async throws -> TriagedRequest {
            try await house.authority.triage(payload, from: id, at: level) { _ in false }
        }
        #expect(try await triaged(file.id, .severe) == .take)
        #expect(try await triaged(file.id, .drowning) == .dropped(.unknownBoard))
        let other = try BoardDouble().installation
        #expect(try await triaged(other, .heavy) == .dropped(.unknownBoard))
    }

    @Test("a claim with which no board came is deleted a day after its end")
    func unused() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (unused, used) = (try await house.prepare(by: ada), try await house.prepare(by: ada))
        try await house.join(used, BoardDouble())
        for file in [unused, used] {
            _ = try await house.authority.endPreparedClaim(file.id, by: ada)
        }
        house.clock.advance(.seconds(86_401))
        while try await house.authority.sweep() {}
        #expect(try await house.join(unused, BoardDouble()) == .dropped(.unknownBoard))
        #expect(try await house.join(used, BoardDouble()) == .dropped(.unopened))
    }
}
