import Gate
import Sessions

/// How a write stands in the queue's encrypted column. The version comes first, then app,
/// class, topic, and the payload to the end. Sequence, time, session and user have columns.
enum QueueRow {
    private static let version: UInt8 = 1
    /// What a row takes beside its encrypted column: two names, numbers, SQLite's own header.
    static let overhead: Int64 = 48

    /// Appends a write. False for a topic that MQTT could not carry.
    static func encode(_ write: AcceptedWrite, into row: inout [UInt8]) -> Bool {
        row.append(version)
        guard row.append(short: write.app.description),
            row.append(short: write.className.description),
            let topic = UInt16(exactly: write.topic.utf8.count)
        else { return false }
        row.append(half: topic)
        row.append(contentsOf: write.topic.utf8)
        row.append(contentsOf: write.payload)
        return true
    }

    /// Nil for bytes that `encode` does not make.
    static func decode(
        _ row: [UInt8], sequence: Int64, at milliseconds: Int64, session: String, user: String
    ) -> AcceptedWrite? {
        var reader = ByteReader(row)
        guard reader.byte() == version,
            let app = reader.shortText().flatMap({ AppName($0) }),
            let className = reader.shortText().flatMap({ ClassName($0) }),
            let count = reader.half(), let topic = reader.text(Int(count)),
            let session = ObjectID(session), let user = ObjectID(user)
        else { return nil }
        return AcceptedWrite(
            sequence: sequence, session: session, user: user,
            acceptedAt: Timestamp(milliseconds: milliseconds), app: app, className: className,
            topic: topic, payload: reader.rest())
    }
}

/// What the store remembers of the queue beside its rows.
struct QueueState: Equatable {
    static let counterLimit = 256
    private static let version: UInt8 = 1

    var lastSequence: Int64 = 0
    var messages: Int64 = 0
    var bytes: Int64 = 0
    var counters: [String: Int64] = [:]

    mutating func add(messages count: Int64, bytes size: Int64) {
        messages = max(0, messages + count)
        bytes = max(0, bytes + size)
    }

    mutating func count(_ name: String, _ value: Int64) {
        guard name.utf8.count <= 255 else { return }
        guard counters[name] != nil || counters.count < Self.counterLimit else { return }
        counters[name] = value
    }

    /// `lastSequence` has a column of its own, which the ciphertext is bound to.
    func encoded() -> [UInt8] {
        var row: [UInt8] = [Self.version]
        row.append(number: messages)
        row.append(number: bytes)
        row.append(half: UInt16(clamping: counters.count))
        for (name, value) in counters {
            guard row.append(short: name) else { continue }
            row.append(number: value)
        }
        return row
    }

    init() {}

    /// Nil for bytes that `encoded` does not make.
    init?(_ row: [UInt8], lastSequence: Int64) {
        var reader = ByteReader(row)
        guard reader.byte() == Self.version, let messages = reader.number(),
            let bytes = reader.number(), let count = reader.half(),
            count <= Self.counterLimit, messages >= 0, bytes >= 0
        else { return nil }
        for _ in 0..<count {
            guard let name = reader.shortText(), let value = reader.number() else { return nil }
            counters[name] = value
        }
        guard reader.isAtEnd else { return nil }
        self.lastSequence = lastSequence
        self.messages = messages
        self.bytes = bytes
    }
}
