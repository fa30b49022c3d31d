import AuthorityCore
import AuthorityStore
import Gate
import Logging
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// The owner of a board's records.
@Suite("A record's owner")
struct RecordOwnerTests {
    private func owned(
        _ record: DataRecord, by session: ObjectID, _ house: House
    ) async throws -> OwnedRecord? {
        let origin = RecordOrigin(board: record.board, session: session)
        return try await house.authority.recordOwners(of: [origin])[origin]?.owned(record)
    }

    private func owner(
        _ board: BoardDouble, _ session: ObjectID, _ house: House
    ) async throws -> UserID? {
        try await owned(
            record(of: board, at: Timestamp(milliseconds: 1)), by: session, house)?.owner
    }

    private func record(
        of board: BoardDouble, _ sequence: Int64 = 1, at writtenAt: Timestamp,
        received: Timestamp? = nil
    ) throws -> DataRecord {
        let path = try #require(RecordPath(
            className: "Reading", operation: "create", record: nil as Substring?))
        return DataRecord(
            board: board.installation, sequence: sequence, path: path,
            app: try #require(AppName("thermo")), writtenAt: writtenAt,
            receivedAt: received ?? writtenAt, payload: [])
    }

    private let unknown = ObjectID("AAAAAAAAAA")

    @Test("is the user of the session, or the board's owner if nobody knows the session")
    func present() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        #expect(try await owner(board, live.session, house) == ada.user.objectID)
        let unknown = try #require(unknown)
        #expect(try await owner(board, unknown, house) == ada.user.objectID)
        #expect(try await owner(try BoardDouble(), unknown, house) == nil)
    }

    @Test("is nobody whose board only names the session of another's board")
    func foreign() async throws {
        let house = try await House()
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let hers = try await house.provisioned(try BoardDouble(), by: ada)
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: eve)
        #expect(try await owner(board, hers.session, house) == eve.user.objectID)
    }

    @Test("is a former one only for records of before the session's end that arrive soon after it")
    func former() async throws {
        let house = try await House()
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        let first = try await house.provisioned(board, by: ada)
        house.clock.advance(.seconds(100))
        let end = house.clock.now
        try await house.authority.release(board.installation, by: ada)
        house.clock.advance(.seconds(100))
        func owned(
            _ time: Timestamp, by session: ObjectID, after span: Duration = .seconds(200)
        ) async throws -> OwnedRecord? {
            let record = try record(of: board, at: time, received: end + span)
            return try await self.owned(record, by: session, house)
        }
        func check() async throws {
            for time in [end - .seconds(50), end] {
                let late = try #require(try await owned(time, by: first.session))
                #expect(late.owner == ada.user.objectID)
                #expect(late.isOfFormerOwner)
            }
            #expect(try await owned(end + .milliseconds(1), by: first.session)?.owner
                != ada.user.objectID)
            let day = Duration.seconds(86_400)
            #expect(try await owned(end, by: first.session, after: day * 2) != nil)
            #expect(try await owned(end, by: first.session, after: day * 3) == nil)
        }
        try await check()
        #expect(try await owned(end, by: try #require(unknown)) == nil)
        let second = try await house.provisioned(try board.pairedAnew(), by: eve)
        try await check()
        let own = try #require(try await owned(end + .seconds(150), by: second.session))
        #expect(own.owner == eve.user.objectID)
        #expect(!own.isOfFormerOwner)
    }

    @Test("gets nothing of a released board, until the owner has the board again")
    func release() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let board = try BoardDouble()
        let first = try await house.provisioned(board, by: ada)
        let early = try #require(try await owned(
            try record(of: board, at: house.clock.now), by: first.session, house))
        house.clock.advance(.seconds(10))
        let release = try #require(
            try await house.authority.dataReleases(of: board.installation, by: ada).first)
        try await data.delete(release)
        #expect(try await data.keep([early]) == KeepCount(released: 1))
        try await house.authority.release(board.installation, by: ada)
        let late = try #require(try await owned(
            try record(of: board, at: house.clock.now), by: first.session, house))
        #expect(try await data.keep([early, late]) == KeepCount(released: 2))
        house.clock.advance(.seconds(10))
        let second = try await house.provisioned(try board.pairedAnew(), by: ada)
        let own = try #require(try await owned(
            try record(of: board, at: house.clock.now), by: second.session, house))
        #expect(try await data.keep([early, own]) == KeepCount(stored: 1, released: 1))
    }

    @Test("has the board's records again if the release failed in the middle")
    func settled() async throws {
        let (house, data) = (try await House(), MemoryDataStore())
        let ada = try await house.login()
        let (stays, goes) = (try BoardDouble(), try BoardDouble())
        let trimming = DataTrimming(
            store: house.store, data: data, authority: house.authority,
            bounds: DataBounds(keep: .seconds(86_400), maxBytes: .max), tally: DataTally(),
            mayTrim: { true }, logger: Logger(label: "test"))
        var records: [OwnedRecord] = []
        for board in [stays, goes] {
            let live = try await house.provisioned(board, by: ada)
            let record = try record(of: board, at: house.clock.now)
            records.append(try #require(try await owned(record, by: live.session, house)))
            for release in try await house.authority.dataReleases(
                of: board.installation, by: ada)
            { try await data.delete(release) }
        }
        try await house.authority.release(goes.installation, by: ada)
        let now = house.clock.now
        try await trimming.settleReleases(now: now + .seconds(3599))
        #expect(try await data.keep(records) == KeepCount(released: 2))
        try await trimming.settleReleases(now: now + .seconds(3600))
        #expect(try await data.keep(records) == KeepCount(stored: 1, released: 1))
        #expect(data.records.map(\.record.board) == [stays.installation])
    }
}
