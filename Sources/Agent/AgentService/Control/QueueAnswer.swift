import AgentCore
import AgentStore
import Gate
import Sessions
import Wire

/// The store's part of a queue answer: the size of its files, the bytes written, and the dead
/// letters. Payloads are left out because they may be secrets.
package struct QueueAnswer {
    /// The most dead letters in one answer, because an answer is one line on the control socket.
    package static let deadLimit: Int64 = 1000
    /// A topic may have 64 KiB. A topic of more than 200 bytes is cut to its first 50 characters.
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
            // Null if the disk cannot be read: that differs from an empty list.
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
