import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

/// The owner of a board's records.
@Suite("A record's owner")
struct RecordOwnerTests {
    private func owner(
        _ board: BoardDouble, _ session: ObjectID, _ house: House, _ data: MemoryDataStore
    ) async throws -> UserID? {
        let origin = RecordOrigin(board: board.installation, session: session)
        return try await house.authority.owners(of: [origin], keptIn: data)[origin]?.owner
    }

    private func record(of board: BoardDouble, owner: Caller) throws -> OwnedRecord {
        let path = try #require(RecordPath(
            className: "Reading", operation: "create", record: nil as Substring?))
        let time = Timestamp(milliseconds: 1)
        return OwnedRecord(
            owner: owner.user.objectID,
            record: DataRecord(
                board: board.installation, sequence: 1, path: path,
                app: try #require(AppName("thermo")), writtenAt: time, receivedAt: time,
                payload: []))
    }

    private let unknown = ObjectID("AAAAAAAAAA")

    @Test("is the user of the session, or the board's owner if nobody knows the session")
    func present() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        #expect(try await owner(board, live.session, house, data) == ada.user.objectID)
        let unknown = try #require(unknown)
        #expect(try await owner(board, unknown, house, data) == ada.user.objectID)
        #expect(try await owner(try BoardDouble(), unknown, house, data) == nil)
    }

    @Test("is nobody whose board only names the session of another's board")
    func foreign() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let hers = try await house.provisioned(try BoardDouble(), by: ada)
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: eve)
        #expect(try await owner(board, hers.session, house, data) == eve.user.objectID)
    }

    @Test("is nobody once the board was released, unless records of it were kept")
    func released() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        _ = try await data.keep([record(of: board, owner: ada)])
        try await house.authority.release(board.installation, by: ada)
        #expect(try await owner(board, live.session, house, data) == ada.user.objectID)
        #expect(try await owner(board, try #require(unknown), house, data) == nil)
        try await data.delete(board: board.installation, owner: ada.user.objectID)
        #expect(try await owner(board, live.session, house, data) == nil)
    }

    @Test("stays the former one for what was written before the next")
    func former() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        let first = try await house.provisioned(board, by: ada)
        _ = try await data.keep([record(of: board, owner: ada)])
        try await house.authority.release(board.installation, by: ada)
        let second = try await house.provisioned(try board.pairedAnew(), by: eve)
        #expect(try await owner(board, first.session, house, data) == ada.user.objectID)
        #expect(try await owner(board, second.session, house, data) == eve.user.objectID)
    }

    @Test("is a former one only for records of before the session's end that arrive soon after it")
    func ended() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        let first = try await house.provisioned(board, by: ada)
        _ = try await data.keep([record(of: board, owner: ada)])
        house.clock.advance(.seconds(100))
        let end = house.clock.now
        try await house.authority.release(board.installation, by: ada)
        house.clock.advance(.seconds(100))
        func owned(
            _ writtenAt: Timestamp, by session: ObjectID, after span: Duration = .seconds(200)
        ) async throws -> OwnedRecord? {
            let origin = RecordOrigin(board: board.installation, session: session)
            let owners = try await house.authority.owners(of: [origin], keptIn: data)[origin]
            let known = try record(of: board, owner: ada).record
            return owners?.owned(DataRecord(
                board: known.board, sequence: 2, path: known.path, app: known.app,
                writtenAt: writtenAt, receivedAt: end + span, payload: []))
        }
        func check() async throws {
            for time in [end - .seconds(50), end] {
                let late = try #require(try await owned(time, by: first.session))
                #expect(late.owner == ada.user.objectID)
                #expect(late.isOfFormerOwner)
            }
            #expect(try await owned(end + .milliseconds(1), by: first.session) == nil)
            let day = Duration.seconds(86_400)
            #expect(try await owned(end, by: first.session, after: day * 2) != nil)
            #expect(try await owned(end, by: first.session, after: day * 3) == nil)
        }
        try await check()
        let second = try await house.provisioned(try board.pairedAnew(), by: eve)
        try await check()
        let own = try #require(try await owned(end + .seconds(150), by: second.session))
        #expect(own.owner == eve.user.objectID)
        #expect(!own.isOfFormerOwner)
    }
}
