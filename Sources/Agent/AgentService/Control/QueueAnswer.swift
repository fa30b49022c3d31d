import AgentCore
import AgentStore
import Gate
import Sessions
import Wire

/// What only the store knows of the outbox: its file, and the dead letters without their
/// payloads, which may be secrets.
package struct QueueAnswer {
    /// So many dead letters are told of at the most: they make one line of the control socket.
    package static let deadLimit: Int64 = 1000
    /// A topic may have 64 KiB; more of it than this helps nobody.
    private static let topicLimit = 200

    private let store: BoardStore

    init(_ store: BoardStore) { self.store = store }

    func completed(_ answer: JSONValue, dead: Int64) -> JSONValue {
        guard case .object(var members) = answer else { return answer }
        if case .object(var queue)? = members["queue"] {
            queue["fileBytes"] = .integer(store.fileBytes)
            let written = store.written
            queue["writtenToday"] = .integer(written.today)
            queue["writtenPerDay"] = written.perDay(at: Instant.current.wall)
                .map(JSONValue.integer) ?? .null
            queue["writtenYesterday"] = written.yesterday.map(JSONValue.integer) ?? .null
            members["queue"] = .object(queue)
        }
        if dead > 0 {
            let limit = Int(min(dead, Self.deadLimit))
            let letters = try? store.deadLetters(limit: limit)
            // Null, where the disk does not say: none is another thing.
            members["deadLetters"] = letters.map { letters in
                .array(letters.sorted { $0.write.sequence > $1.write.sequence }.map(Self.json))
            } ?? .null
        }
        return .object(members)
    }

    private static func json(_ letter: DeadLetter) -> JSONValue {
        let write = letter.write
        let topic = write.topic.utf8.count <= topicLimit
            ? write.topic : String(write.topic.prefix(topicLimit / 4)) + "…"
        return .object([
            "seq": .integer(write.sequence), "time": .time(write.acceptedAt),
            "buriedAt": .time(letter.buriedAt), "app": .string(write.app.description),
            "class": .string(write.className.description), "topic": .string(topic),
            "bytes": .integer(Int64(write.payload.count)), "reason": .string(letter.reason),
        ])
    }
}
