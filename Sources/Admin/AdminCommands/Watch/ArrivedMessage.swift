import Sessions

/// A data message, in the form that `watch --check` needs.
struct ArrivedMessage: Sendable {
    /// The message's place in its board's sequence.
    enum Mark: Equatable, Sendable {
        case whole(sequence: Int64, accepted: Timestamp)
        /// The contract's user properties are missing. MQTT 3.1.1 has none.
        case none
        case malformed
    }

    let board: InstallationID
    let arrived: Timestamp
    let session: String?
    let mark: Mark
    /// A hash of session, topic and payload. It is valid only in this process.
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

    /// Decimal digits without leading zeros, as in the contract; below 2⁶².
    private static func number(_ text: String) -> Int64? {
        guard (1...19).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text == "0" || text.utf8.first != UInt8(ascii: "0"),
            let number = Int64(text), number < 1 << 62
        else { return nil }
        return number
    }
}
