import AgentCore
import Testing

@testable import AgentService

@Suite("Answer room")
struct AnswerRoomTests {
    private func answer(_ app: String, _ size: Int) -> BusPublication {
        let topic = "postern/app/\(app)/answers"
        return BusPublication(
            topic: topic, payload: [UInt8](repeating: 0, count: size - topic.utf8.count - 4),
            retain: false, correlation: [1, 2, 3, 4])
    }

    @Test("is a quarter for one app, and the others keep theirs")
    func share() {
        var room = AnswerLimit()
        var packetID: Int32 = 0
        while room.hasRoom(for: answer("mad", 1024)) {
            packetID += 1
            room.add(answer("mad", 1024), as: packetID)
        }
        #expect(packetID == 256)
        #expect(room.hasRoom(for: answer("calm", 1024)))
        room.settle(1)
        #expect(room.hasRoom(for: answer("mad", 1024)))
        #expect(!room.hasRoom(for: answer("mad", 1025)))
    }

    @Test("is one megabyte for all, however many apps there are")
    func whole() {
        var room = AnswerLimit()
        for number in 0..<1024 { room.add(answer("a\(number)", 1024), as: Int32(number)) }
        #expect(!room.hasRoom(for: answer("calm", 1024)))
        for number in 0..<1024 { room.settle(Int32(number)) }
        room.settle(5)
        #expect(room.hasRoom(for: answer("calm", AnswerLimit.limit)))
        #expect(!room.hasRoom(for: answer("calm", AnswerLimit.limit + 1)))
    }

    @Test("takes a first answer of any size, and a packet id that comes again once only")
    func first() {
        var room = AnswerLimit()
        room.add(answer("thermo", 900_000), as: 1)
        #expect(!room.hasRoom(for: answer("thermo", 100)))
        room.add(answer("thermo", 100), as: 1)
        #expect(room.hasRoom(for: answer("thermo", 200_000)))
    }
}
