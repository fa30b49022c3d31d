import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Former boards", .everyStore)
struct FormerBoardTests {
    private struct Given {
        let house: House
        let ada: Caller
        let eve: Caller
        let board: BoardDouble
        /// Ada's own, all the time.
        let other: InstallationID

        init() async throws {
            house = try await House()
            ada = try await house.login()
            eve = try await house.addUser("eve")
            board = try BoardDouble()
            _ = try await house.provisioned(board, by: ada)
            other = try await house.provisioned(try BoardDouble(), by: ada).board.installation
        }

        /// What a user gets for both boards.
        func former(by caller: Caller) async throws -> [FormerBoard] {
            try await house.authority.formerBoards(
                among: [board.installation, other], by: caller)
        }
    }

    @Test("are those that the caller released, with their names")
    func released() async throws {
        let given = try await Given()
        let id = given.board.installation
        #expect(try await given.former(by: given.ada).isEmpty)
        let detail = try await given.house.authority.board(id, by: given.ada)
        try await given.house.authority.release(id, by: given.ada)
        let expected = [FormerBoard(installation: id, name: detail.board.name)]
        #expect(try await given.former(by: given.ada) == expected)
        #expect(try await given.house.authority.formerBoards(among: [id], by: given.ada)
            == expected)
    }

    @Test("have no name, and no difference from unknown ones, while somebody else has them")
    func nameless() async throws {
        let given = try await Given()
        let id = given.board.installation
        let unknown = try BoardDouble().installation
        #expect(try await given.house.authority.formerBoards(
            among: [id, unknown], by: given.eve
        ).map(\.name) == [nil, nil])
        try await given.house.authority.release(id, by: given.ada)
        #expect(try await given.former(by: given.eve).map(\.name) == [nil, nil])
        _ = try await given.house.provisioned(try given.board.pairedAnew(), by: given.eve)
        #expect(try await given.former(by: given.ada)
            == [FormerBoard(installation: id, name: nil)])
        #expect(try await given.former(by: given.eve).map(\.installation) == [given.other])
    }

    @Test("may be forgotten by their former user, and no present board may")
    func forget() async throws {
        let given = try await Given()
        let (house, id) = (given.house, given.board.installation)
        await expectRefusal(.forbidden) {
            try await house.authority.dataDeletion(of: id, by: given.ada)
        }
        #expect(try await house.audit("data.deleted").isEmpty)
        try await house.authority.release(id, by: given.ada)
        let deletion = try await house.authority.dataDeletion(of: id, by: given.ada)
        #expect((deletion.board, deletion.owner) == (id, given.ada.user.objectID))
        let entry = try #require(try await house.audit("data.deleted").first)
        #expect((entry.actor, entry.board) == ("ada", id))
        // Eve, too, has nothing but her own records to forget.
        #expect(try await house.authority.dataDeletion(of: id, by: given.eve).owner
            == given.eve.user.objectID)
    }

    @Test("are nothing for a restricted session")
    func restricted() async throws {
        let given = try await Given()
        let (house, id) = (given.house, given.board.installation)
        let device = try await house.device(by: given.ada).caller
        try await house.authority.release(id, by: given.ada)
        #expect(try await given.former(by: device).isEmpty)
        await expectRefusal(.forbidden) {
            try await house.authority.dataDeletion(of: id, by: device)
        }
    }
}
