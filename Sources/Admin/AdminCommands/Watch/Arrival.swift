import Sessions

/// A data message as `watch --check` looks at it.
struct Arrival: Sendable {
    /// What the message says of its place among the board's.
    enum Mark: Equatable, Sendable {
        case whole(sequence: Int64, accepted: Timestamp)
        /// No user properties of the contract, as MQTT 3.1.1 leaves them away.
        case none
        case malformed
    }

    let board: InstallationID
    let arrived: Timestamp
    let session: String?
    let mark: Mark
    /// Stands for session, topic and payload; of this process alone.
    let digest: Int

    init(_ message: DataMessage, at now: Timestamp) {
        board = message.board
        arrived = now
        session = message.session
        mark = Self.mark(of: message)
        var hasher = Hasher()
        hasher.combine(session)
        hasher.combine(message.topic)
        hasher.combine(message.payload)
        digest = hasher.finalize()
    }

    private static func mark(of message: DataMessage) -> Mark {
        if message.session == nil, message.sequence == nil, message.accepted == nil {
            return .none
        }
        guard let session = message.session, ObjectID(session) != nil,
            let sequence = message.sequence.flatMap(number), sequence > 0,
            let accepted = message.accepted.flatMap(number)
        else { return .malformed }
        return .whole(sequence: sequence, accepted: Timestamp(milliseconds: accepted))
    }

    /// Decimal digits without a zero before them, as the contract writes numbers; below 2⁶².
    private static func number(_ text: String) -> Int64? {
        guard (1...19).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text == "0" || text.utf8.first != UInt8(ascii: "0"),
            let number = Int64(text), number < 1 << 62
        else { return nil }
        return number
    }
}
