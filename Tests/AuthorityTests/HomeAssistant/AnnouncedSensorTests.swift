import Sessions
import Testing

@testable import AuthorityCore

@Suite("Announced sensors", .everyStore)
struct AnnouncedSensorTests {
    private func ids(_ texts: String...) throws -> [SensorID] {
        try texts.map { try #require(SensorID($0)) }
    }

    private func announced(_ house: House) async throws -> [AnnouncedBoard] {
        try await house.authority.announcedBoards(after: nil, limit: 10)
    }

    @Test("are noted, counted and forgotten for each board")
    func noted() async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.provisioned(BoardDouble(), by: ada)
        let boards = try await announced(house)
        #expect(boards.count == 2 && boards.allSatisfy { $0.announced.isEmpty })
        #expect(try await house.authority.announcedSensorCount() == 0)
        let (first, second) = (boards[0].record, boards[1].record)
        #expect(try await house.authority.noteSensors(try ids("a", "b"), of: first))
        #expect(try await house.authority.noteSensors(try ids("a"), of: second))
        #expect(try await house.authority.noteSensors(try ids("b", "c", "d"), of: first))
        #expect(try await announced(house).map(\.announced) == [ids("b", "c", "d"), ids("a")])
        #expect(try await house.authority.announcedSensorCount() == 4)
        let page = try await house.authority.announcedBoards(after: first, limit: 10)
        #expect(page.map(\.record.installation) == [second.installation])

        let old = try ids("a", "b")
        #expect(try await !house.authority.forgetSensors(old, of: first.installation))
        let present = try ids("b", "c", "d")
        #expect(try await house.authority.forgetSensors(present, of: first.installation))
        #expect(try await house.authority.noteSensors([], of: second))
        #expect(try await house.authority.announcedSensorCount() == 0)
        #expect(try await house.authority.announcedSensors(released: false, limit: 9).isEmpty)
    }

    @Test("of a released board are found, and nothing more is noted for its former owner")
    func released() async throws {
        let house = try await House()
        let (bob, carol) = (try await house.addUser("bob"), try await house.addUser("carol"))
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: bob)
        _ = try await house.provisioned(BoardDouble(), by: bob)
        for known in try await announced(house) {
            #expect(try await house.authority.noteSensors(try ids("a"), of: known.record))
        }
        let before = try #require(
            try await announced(house).first { $0.record.installation == board.installation })
        #expect(try await house.authority.announcedSensors(released: true, limit: 9).isEmpty)
        try await house.authority.release(board.installation, by: bob)
        let found = try await house.authority.announcedSensors(released: true, limit: 9)
        #expect(found.map(\.board) == [board.installation])
        #expect(try await house.authority.announcedSensors(released: false, limit: 9).count == 2)
        #expect(try await !house.authority.noteSensors(try ids("b"), of: before.record))
        #expect(try await house.authority.forgetSensors(try ids("a"), of: board.installation))
        for next in [carol, bob] {
            house.clock.advance(.seconds(1))
            _ = try await house.provisioned(board.pairedAnew(), by: next)
            #expect(try await !house.authority.noteSensors(try ids("b"), of: before.record))
            if next.user.objectID != bob.user.objectID {
                try await house.authority.release(board.installation, by: next)
            }
        }
    }
}
