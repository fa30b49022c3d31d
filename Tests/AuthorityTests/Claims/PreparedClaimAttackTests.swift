import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// What copied, late, stolen and forged files can do. Source: the wire contract, What protects a
/// prepared claim.
@Suite("Attacks on prepared claims", .everyStore)
struct PreparedClaimAttackTests {
    private struct Scene {
        let house: House
        let ada: Caller
        let file: PreparedClaimFile
        let board: BoardDouble
    }

    private func scene(
        _ order: PreparedClaimOrder = PreparedClaimOrder()
    ) async throws -> Scene {
        let house = try await House()
        let ada = try await house.login()
        return Scene(
            house: house, ada: ada, file: try await house.prepare(by: ada, order),
            board: try BoardDouble())
    }

    @Test("a copied card: two boards with one file, and neither is accepted")
    func copied() async throws {
        let scene = try await scene()
        let house = scene.house
        try await house.join(scene.file, scene.board)
        house.clock.advance(.seconds(60))
        try await house.join(scene.file, BoardDouble())
        let view = try await house.prepared(scene.file)
        #expect(view.secondAt == house.clock.now)
        #expect(view.board?.installation == scene.board.installation)
        await #expect {
            try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        } throws: { error in
            if case .refused(let refusal)? = error as? AuthorityError {
                refusal.is(.forbidden) && refusal.name == .claimUsedTwice
            } else { false }
        }
        // A third changes nothing, not even the time.
        house.clock.advance(.seconds(60))
        try await house.join(scene.file, BoardDouble())
        #expect(try await house.prepared(scene.file).secondAt == view.secondAt)
        #expect(try await house.audit("alarm.claim-used-twice").count == 1)
    }

    @Test("another key under the same id is another board")
    func otherKey() async throws {
        let scene = try await scene()
        try await scene.house.join(scene.file, scene.board)
        try await scene.house.join(
            scene.file, BoardDouble(installation: scene.board.installation))
        #expect(try await scene.house.prepared(scene.file).secondAt != nil)
    }

    @Test("a stolen file after the acceptance: an alert to the user, and nothing else")
    func stolen() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let (file, board) = (try await house.prepare(by: bob), try BoardDouble())
        try await house.join(file, board)
        _ = try await house.authority.acceptPreparedClaim(file.id, by: bob)
        let live = try await house.takeProvision(board)
        let thief = try BoardDouble()
        #expect(try await house.join(file, thief) == .silent)
        #expect(try await house.retained(thief) == nil)
        #expect(try await live.authenticate().result != nil)
        #expect(try await alerts(house, bob).map(\.kind) == [.claimUsedTwice])
        let alert = try #require(try await alerts(house, bob).first)
        #expect(alert.details["preparedClaimId"] == .string(file.id.description))
        #expect(alert.watchedBoard == nil)
        #expect(try await alerts(house, house.addUser("eve")).isEmpty)
        _ = try await house.authority.endPreparedClaim(file.id, by: bob)
        #expect(try await alerts(house, bob).isEmpty)
    }

    /// The alerts of a person after one look of the authority.
    private func alerts(_ house: House, _ caller: Caller) async throws -> [Alert] {
        let now = house.clock.now
        _ = try await house.authority.evaluateAlerts(
            AlertWatch(rules: AlertRules(), at: now),
            AlertSight(now: now, hearsSince: now, grace: .zero), channels: [.webhook],
            lastData: { _ in nil })
        return try await house.authority.alerts(AlertQuery(), by: caller)
    }

    @Test("a replay changes nothing, and brings no old claim secret back")
    func replay() async throws {
        let scene = try await scene()
        let house = scene.house
        let first = try scene.file.joinPayload(of: scene.board, at: house.clock.now)
        #expect(try await house.authority.handle(first, from: scene.file.id) == .silent)
        let asked = try await house.prepared(scene.file)
        let later = try scene.board.pairedAnew()
        house.clock.advance(.seconds(60))
        try await house.join(scene.file, later)
        for _ in 0..<2 {
            #expect(try await house.authority.handle(first, from: scene.file.id) == .silent)
        }
        #expect(try await house.prepared(scene.file) == asked)
        _ = try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        _ = try await house.takeProvision(later)
        // After the acceptance, too.
        #expect(try await house.authority.handle(first, from: scene.file.id) == .silent)
        #expect(try await house.prepared(scene.file).secondAt == nil)
        #expect(try await house.audit("prepared-claim.asked").count == 1)
    }

    @Test("a request under another secret, id or topic, or with a wrong bit, does not open")
    func forged() async throws {
        let scene = try await scene()
        let house = scene.house
        let (file, now) = (scene.file, house.clock.now)
        let other = try await house.prepare(by: scene.ada)
        var damaged = try file.joinPayload(of: scene.board, at: now)
        damaged[damaged.count - 4] ^= 1
        let forged = [
            try file.joinPayload(of: scene.board, at: now, under: other.secret),
            try file.joinPayload(of: scene.board, at: now, id: other.id),
            try other.joinPayload(of: scene.board, at: now),
            try file.joinPayload(of: scene.board, at: now, topic: other.id),
            try scene.board.seal(Array(#"{"type":"claim.join"}"#.utf8), to: file.sealKey),
            // A thief of the file who knows the board's public key only.
            try file.joinPayload(of: scene.board, at: now, sealer: BoardDouble()),
            damaged, Array("{}".utf8), [],
        ]
        for payload in forged {
            let answer = try await house.authority.handle(payload, from: file.id)
            #expect(answer == .dropped(.unopened) || answer == .dropped(.notSealed))
        }
        // Another prepared claim's outbox does not take it either.
        let own = try file.joinPayload(of: scene.board, at: now)
        #expect(try await house.authority.handle(own, from: other.id) == .dropped(.unopened))
        let noJoin = try file.seal(Array(#"{"type":"session.refresh"}"#.utf8))
        #expect(try await house.authority.handle(noJoin, from: file.id) == .dropped(.unreadable))
        #expect(try await house.prepared(file).state == .prepared)
        #expect(try await house.audit("alarm.unknown-board").isEmpty)
    }

    @Test("nobody claims the id of a prepared claim, by a code or by a file")
    func ownID() async throws {
        let scene = try await scene()
        let house = scene.house
        let impostor = try BoardDouble(installation: scene.file.id)
        await expectRefusal(.forbidden) { try await house.claim(impostor, by: scene.ada) }
        let other = try await house.prepare(by: scene.ada)
        try await house.join(other, impostor)
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(other.id, by: scene.ada)
        }
        #expect(try await house.join(scene.file, scene.board) == .silent)
    }

    @Test("another user's board is not taken by a file")
    func foreignBoard() async throws {
        let house = try await House()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: bob)
        let file = try await house.prepare(by: eve)
        try await house.join(file, try board.pairedAnew())
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(file.id, by: eve)
        }
        #expect(try await live.authenticate().result != nil)
    }

    @Test("acceptance at once takes the first board, and only an alert comes of the second")
    func atOnce() async throws {
        let scene = try await scene(PreparedClaimOrder(acceptsAtOnce: true))
        let house = scene.house
        try await house.join(scene.file, scene.board)
        #expect(house.worker.woken().contains(scene.board.installation.description))
        let live = try await house.takeProvision(scene.board)
        #expect(live.provision.session.user == scene.ada.user.objectID)
        let thief = try BoardDouble()
        try await house.join(scene.file, thief)
        #expect(try await house.retained(thief) == nil)
        #expect(try await house.prepared(scene.file).secondAt != nil)
    }

    @Test("acceptance at once happens once: then a person decides")
    func atOnceAgain() async throws {
        let scene = try await scene(PreparedClaimOrder(acceptsAtOnce: true))
        let house = scene.house
        try await house.join(scene.file, scene.board)
        let open = try await house.authority.openClaims(by: scene.ada, everyone: false)
        try await house.authority.endClaim(try #require(open.first).claim.id, by: scene.ada)
        let view = try await house.prepared(scene.file)
        #expect(view.state == .asking && !view.acceptsAtOnce)
        try await house.join(scene.file, scene.board)
        #expect(try await house.prepared(scene.file).state == .asking)
        // A claim that was ended did not use the secret up.
        _ = try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        _ = try await house.takeProvision(scene.board)
    }

    @Test("acceptance at once that is refused leaves the board asking")
    func atOnceRefused() async throws {
        let house = try await House()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: bob)
        let file = try await house.prepare(by: eve, PreparedClaimOrder(acceptsAtOnce: true))
        #expect(try await house.join(file, try board.pairedAnew()) == .silent)
        let view = try await house.prepared(file)
        #expect(view.state == .asking && !view.acceptsAtOnce)
        #expect(try await house.audit("prepared-claim.refused").count == 1)
    }

    @Test("a broker that is away leaves the board asking")
    func brokerAway() async throws {
        let scene = try await scene()
        let house = scene.house
        try await house.join(scene.file, scene.board)
        house.worker.fail(true)
        await #expect(throws: AuthorityError.self) {
            try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        }
        #expect(try await house.prepared(scene.file).state == .asking)
        house.worker.fail(false)
        _ = try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(scene.file.id, by: scene.ada)
        }
    }
}
