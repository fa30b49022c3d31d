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
