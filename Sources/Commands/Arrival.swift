import Gate
import Mosquitto
import Sessions
import Wire

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

    /// Nil for a topic that carries no board's data.
    init?(_ message: IncomingMessage, under root: TopicRoot, at now: Timestamp) {
        self.init(
            topic: message.topic, payload: message.payload, under: root, at: now,
            property: { message.properties.userProperty($0) })
    }

    init?(
        topic: String, payload: [UInt8], under root: TopicRoot, at now: Timestamp,
        property: (String) -> String?
    ) {
        guard case .data(let board, _, _)? = ContractTopic(topic, under: root) else { return nil }
        self.board = board
        arrived = now
        session = property("sid")
        let texts = (seq: property("seq"), ts: property("ts"))
        if session == nil, texts.seq == nil, texts.ts == nil {
            mark = .none
        } else if let id = session, ObjectID(id) != nil,
            let sequence = texts.seq.flatMap(Self.number), sequence > 0,
            let accepted = texts.ts.flatMap(Self.number)
        {
            mark = .whole(
                sequence: sequence, accepted: Timestamp(milliseconds: accepted))
        } else {
            mark = .malformed
        }
        var hasher = Hasher()
        hasher.combine(session)
        hasher.combine(topic)
        hasher.combine(payload)
        digest = hasher.finalize()
    }

    /// Decimal digits without a zero before them, as the contract writes numbers; below 2⁶².
    static func number(_ text: String) -> Int64? {
        guard (1...19).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text == "0" || text.utf8.first != UInt8(ascii: "0"),
            let number = Int64(text), number < 1 << 62
        else { return nil }
        return number
    }
}
