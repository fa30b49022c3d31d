import AuthorityCore
import Gate
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

/// From the broker into the store, with a real mosquitto.
@Suite("The reader of data", .serialized)
struct DataReaderTests {
    private func message(
        _ board: BoardDouble, _ number: Int, session: ObjectID, retain: Bool = false,
        properties: Bool = true
    ) -> OutgoingMessage {
        OutgoingMessage(
            topic: "postern/v1/\(board.installation)/data/Reading/create",
            payload: Array("{\"celsius\":\(number)}".utf8), retain: retain,
            properties: MessageProperties(userProperties: properties ? [
                UserProperty("sid", "\(session)"), UserProperty("seq", "\(number)"),
                UserProperty("ts", "\(systemClock().milliseconds)"), UserProperty("app", "thermo"),
            ] : []))
    }

    private func publish(
        _ numbers: ClosedRange<Int>, of board: BoardDouble, session: ObjectID, over link: Listener
    ) async throws {
        let first = message(board, numbers.lowerBound, session: session)
        try await publish(first, over: link)
        try await withThrowingTaskGroup(of: UInt8.self) { group in
            for number in numbers.dropFirst() {
                let message = message(board, number, session: session)
                group.addTask { try await link.client.publish(message) }
            }
            for try await code in group { #expect(code < 0x80) }
        }
    }

    /// Until the reader has subscribed, the broker has nobody for a record and says so.
    private func publish(_ message: OutgoingMessage, over link: Listener) async throws {
        try await untilTrue { try await link.client.publish(message) == 0 }
    }

    @Test("stores each record once, for the user of its session")
    func once() async throws {
        let data = MemoryDataStore()
        let house = try await RunningHouse(data: data)
        let ada = try await house.login()
        let board = try BoardDouble()
        let (session, link) = try await house.provisioned(board, by: ada)
        try await publish(1...3000, of: board, session: session, over: link)
        try await publish(1...10, of: board, session: session, over: link)
        let tally = try #require(house.server.data?.tally)
        try await untilTrue { tally.counts.repeated == 10 }
        let records = data.records(of: ada.user.objectID)
        #expect(records.map(\.sequence) == Array(1...3000))
        #expect(records.first?.payload == Array(#"{"celsius":1}"#.utf8))
        #expect(data.batches.count < 3000, "records of one read share a commit")
        await link.client.close()
        await house.stop()
    }

    @Test("acknowledges nothing while the store is away, and loses nothing")
    func away() async throws {
        let data = MemoryDataStore()
        let house = try await RunningHouse(data: data)
        let ada = try await house.login()
        let board = try BoardDouble()
        let (session, link) = try await house.provisioned(board, by: ada)
        try await publish(1...1, of: board, session: session, over: link)
        try await untilTrue { data.records.count == 1 }
        data.setAway(true)
        try await publish(2...500, of: board, session: session, over: link)
        let tally = try #require(house.server.data?.tally)
        try await untilTrue { data.tries > 4 && tally.counts.waiting != nil }
        // Boards are served as before.
        _ = try await house.provisioned(try BoardDouble(), by: ada)
        data.setAway(false)
        try await untilTrue { data.records.count == 500 && tally.counts.waiting == nil }
        await link.client.close()
        await house.stop()
    }

    @Test("finds what came while it was away, also after its broker's restart")
    func restart() async throws {
        let data = MemoryDataStore()
        let house = try await RunningHouse(data: data)
        let ada = try await house.login()
        let board = try BoardDouble()
        let (session, link) = try await house.provisioned(board, by: ada)
        try await publish(1...1, of: board, session: session, over: link)
        try await untilTrue { data.records.count == 1 }
        data.setAway(true)
        try await publish(2...1500, of: board, session: session, over: link)
        await link.client.close()
        await house.stop()
        data.setAway(false)
        let again = try await RunningHouse(folder: house.folder, data: data)
        try await untilTrue { data.records.count == 1500 }
        let properties = data.records(of: ada.user.objectID).map(\.app.description)
        #expect(Set(properties) == ["thermo"])
        await again.stop()
    }

    @Test("counts what it cannot keep")
    func unkept() async throws {
        let data = MemoryDataStore()
        let house = try await RunningHouse(data: data)
        let ada = try await house.login()
        let board = try BoardDouble()
        let (session, link) = try await house.provisioned(board, by: ada)
        let tally = try #require(house.server.data?.tally)
        for (message, reason) in [
            (message(board, 1, session: session, properties: false), UnkeptReason.withoutSequence),
            (message(board, 2, session: session, retain: true), .retained),
            (message(board, 0, session: session), .malformed),
        ] {
            try await publish(message, over: link)
            try await untilTrue { tally.counts.unkept[reason] ?? 0 > 0 }
        }
        #expect(data.records.isEmpty)
        await link.client.close()
        await house.stop()
    }
}
