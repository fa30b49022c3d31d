import AuthorityCore
import AuthorityStore
import Foundation
import Sessions
import Testing
import Wire

@Suite("The configuration that a board sends", .everyStore)
struct KeptConfigurationTests {
    private static let rules = BoardConfiguration(
        policy: "default = \"deny\"  # ü\n", routes: "[[route]]\n")
    private static let others = BoardConfiguration(policy: nil, routes: "[[route]]\n")

    private func house() async throws -> (House, Caller, old: LiveBoard, new: LiveBoard) {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let old = try await house.provisioned(BoardDouble(), by: bob)
        return (house, bob, old, try await house.provisioned(BoardDouble(), by: bob))
    }

    private func kept(of board: LiveBoard, by caller: Caller) async throws -> BoardConfiguration {
        try await board.house.authority.configuration(
            of: board.board.installation, by: caller
        ).configuration
    }

    private func replace(
        _ old: LiveBoard, by new: LiveBoard, _ caller: Caller
    ) async throws -> BoardReplacement {
        try await old.house.authority.replace(
            old.board.installation, by: new.board.installation, lastArrived: nil, for: caller)
    }

    @Test("is for its owner and administrators, and for the board itself")
    func readers() async throws {
        let (house, bob, old, new) = try await house()
        #expect(try await old.save(Self.rules).errorCode == nil)
        #expect(try await kept(of: old, by: bob) == Self.rules)
        #expect(try await kept(of: old, by: try await house.login()) == Self.rules)
        #expect(try await old.configuration() == Self.rules)
        #expect(try await new.configuration() == nil)
        let eve = try await house.addUser("eve")
        let device = try await house.device(by: bob)
        for caller in [eve, device.caller] {
            await #expect(throws: AuthorityError.self) { try await kept(of: old, by: caller) }
        }
        #expect(try await new.ask(.getConfiguration(old.token)).errorCode == 209)
        #expect(try await new.ask(.saveConfiguration(old.token, Self.others)).errorCode == 209)
        #expect(try await kept(of: old, by: bob) == Self.rules)
    }

    @Test("is replaced by the next one, and deleted by an empty one")
    func newest() async throws {
        let (_, bob, old, _) = try await house()
        _ = try await old.save(Self.rules)
        _ = try await old.save(Self.others)
        #expect(try await kept(of: old, by: bob) == Self.others)
        _ = try await old.save(.none)
        #expect(try await old.configuration() == nil)
        await #expect(throws: AuthorityError.self) { try await kept(of: old, by: bob) }
    }

    @Test("is not replaced by one that was sent before, also after a deletion")
    func heldBack() async throws {
        let (house, bob, old, _) = try await house()
        let early = house.clock.now
        house.clock.advance(.seconds(120))
        _ = try await old.save(Self.others)
        let held = try await old.ask(.saveConfiguration(old.token, Self.rules), at: early)
        #expect(held.errorCode == 142)
        #expect(try await kept(of: old, by: bob) == Self.others)
        house.clock.advance(.seconds(60))
        _ = try await old.save(.none)
        let again = try await old.ask(.saveConfiguration(old.token, Self.rules), at: early)
        #expect(again.errorCode == 142)
        #expect(try await old.configuration() == nil)
        house.clock.advance(.seconds(1))
        #expect(try await old.save(Self.rules).errorCode == nil)
    }

    @Test("that was kept while the authority's clock was far ahead is replaced by the next one")
    func clockAhead() async throws {
        let (house, bob, old, _) = try await house()
        try await house.store.transact { transaction throws(AuthorityError) in
            try transaction.keep(
                KeptConfiguration(
                    configuration: Self.rules, savedAt: house.clock.now + .seconds(86_400)),
                of: old.board.installation)
        }
        #expect(try await old.save(Self.others).errorCode == nil)
        #expect(try await kept(of: old, by: bob) == Self.others)
    }

    @Test("is deleted when the board is released or has another owner")
    func forgotten() async throws {
        let (house, bob, old, _) = try await house()
        _ = try await old.save(Self.rules)
        try await house.authority.release(old.board.installation, by: bob)
        let again = try await house.provisioned(try old.board.pairedAnew(), by: bob)
        #expect(try await again.configuration() == nil)
    }

    @Test("goes to the board that takes its place, which hears of it")
    func moves() async throws {
        let (house, bob, old, new) = try await house()
        _ = try await old.save(Self.rules)
        _ = try await house.settle(new.board)
        #expect(try await replace(old, by: new, bob).hasConfiguration)
        #expect(try await new.configuration() == Self.rules)
        let said = try await house.settle(new.board)
        let updates = try said.filter { payload in
            if case .updated = try new.board.open(payload, from: new.sealKey).body { true }
            else { false }
        }
        #expect(updates.count == 1)
    }

    @Test("of a board with rules of its own stays")
    func own() async throws {
        let (_, bob, old, new) = try await house()
        _ = try await old.save(Self.rules)
        _ = try await new.save(Self.others)
        #expect(try await replace(old, by: new, bob).hasConfiguration == false)
        #expect(try await new.configuration() == Self.others)
    }

    @Test("is encrypted in the store")
    func encrypted() async throws {
        let (house, _, old, _) = try await house()
        guard house.store is SQLiteAuthorityStore else { return }
        _ = try await old.save(BoardConfiguration(policy: "# secretive", routes: nil))
        for name in ["authority.db", "authority.db-wal"] {
            let bytes = try Data(contentsOf: URL(filePath: "\(house.folder.path)/\(name)"))
            #expect(bytes.firstRange(of: Data("secretive".utf8)) == nil)
        }
    }
}

extension LiveBoard {
    fileprivate var token: SessionToken { provision.tokens.session }

    fileprivate func save(_ configuration: BoardConfiguration) async throws -> Reply {
        try await ask(.saveConfiguration(token, configuration))
    }

    fileprivate func configuration() async throws -> BoardConfiguration? {
        let reply = try await ask(.getConfiguration(token))
        return reply.result?.configuration
    }
}
