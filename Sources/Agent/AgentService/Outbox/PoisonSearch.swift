import AgentCore
import MQTT

/// How an accepted connection ended.
enum ConnectionEnd: Equatable, Sendable {
    /// The broker gave a reason code in its DISCONNECT.
    case told(UInt8)
    /// The broker closed it in order, with TCP's FIN or TLS's close alert.
    case closed
    /// Any other end: reset, timeout, broken packets.
    case broken

    /// The hold that the DISCONNECT demands for all writes; nil if none.
    var refusal: WriteHold? {
        switch self {
        case .told(ReasonCode.notAuthorized): .forbidden
        case .told(ReasonCode.quotaExceeded): .refused(ReasonCode.text(ReasonCode.quotaExceeded))
        default: nil
        }
    }

    /// Whether a broker ends a connection in this way for a write that it cannot take. The codes
    /// are those of MQTT 5 §3.14.2.1 that concern a packet, not the client or the broker's state.
    var mayBlameWrite: Bool {
        switch self {
        case .told(let code): ReasonCode.blamesPacket(code)
        case .closed: true
        case .broken: false
        }
    }
}

/// Finds the write that makes the broker end the connection, and no other.
///
/// A broker may answer a write that it cannot take by ending the connection. Sent again over each
/// new connection, that write would hold up all others for ever. A network failure looks the same,
/// and must lose no write. So this is an experiment with a control:
///
/// - After two connections in a row that ended with writes in flight and none answered, writes are
///   sent singly, from the head.
/// - Before such a write, control messages of another kind go over the same connection, one after
///   the other. The broker must acknowledge each: 8 before the first try, 12 before the second, 16
///   before the third.
/// - The write is to blame if it ends three such connections in a row, each within 5 s and each by
///   the broker itself: a DISCONNECT that concerns the packet, or an end in order. A reset or a
///   stall starts the count again. An end among the controls ends the search: the network is at
///   fault, and a short connection may have time for writes only.
///
/// Suppose a network drops the connection at any acknowledgement with probability p. It passes n
/// controls and then hits the write with probability (1-p)^n·p, at most 1/(e(n+1)). For the worst
/// p, three in a row are less likely than 1 in 39,000. The search begins only after two
/// connections without an answer. A broker that ends connections by reset holds the queue instead,
/// which costs time and no write.
struct PoisonSearch: Sendable {
    static let fruitlessLimit = 2
    static let attempts = 3
    static let patience = Duration.seconds(5)

    /// How many connections in a row ended with writes in flight and none answered.
    private var fruitless = 0
    /// Whether a write was answered on this connection.
    private var hasAnswered = false
    /// How many control messages were acknowledged on this connection.
    private var controls = 0
    private var isControlOut = false
    /// The write that may be to blame, and how many connections it ended alone.
    private var suspect: (sequence: Int64, endings: Int)?

    /// Whether writes are sent singly.
    var isOn: Bool { fruitless >= Self.fruitlessLimit }

    private var controlsWanted: Int { 8 + 4 * (suspect?.endings ?? 0) }

    /// Whether the next write may be sent. During a search at most one is in flight.
    var isReady: Bool { !isOn || controls >= controlsWanted }

    /// Whether a control message is due, to test the connection.
    var wantsControl: Bool { isOn && !isControlOut && controls < controlsWanted }

    mutating func controlSent() { isControlOut = true }

    mutating func connectionBegan() {
        hasAnswered = false
        controls = 0
        isControlOut = false
    }

    /// The broker answered a write, with any code: so it takes packets, and the network carries
    /// them.
    mutating func writeAnswered() {
        hasAnswered = true
        fruitless = 0
        suspect = nil
    }

    mutating func controlAnswered() {
        controls += 1
        isControlOut = false
    }

    /// Notes the end of a connection. Returns the write that is to blame, once that is shown.
    ///
    /// - Parameter alone: the only write in flight and when it was sent; nil if there was none, or
    ///   more.
    mutating func connectionEnded(
        _ end: ConnectionEnd, inFlight: Int, alone: (sequence: Int64, sentAt: Duration)?,
        at now: Duration
    ) -> Int64? {
        let hadControls = controls > 0
        let hadAnswers = hasAnswered
        let wasOn = isOn
        connectionBegan()
        guard inFlight > 0 else {
            // A connection that never carried anything proves nothing.
            if hadControls { (fruitless, suspect) = (0, nil) }
            return nil
        }
        guard !hadAnswers else { return nil }
        fruitless = min(fruitless + 1, Self.fruitlessLimit)
        guard wasOn, let alone, end.mayBlameWrite, now - alone.sentAt <= Self.patience else {
            suspect = nil
            return nil
        }
        let before = suspect?.sequence == alone.sequence ? suspect?.endings ?? 0 : 0
        guard before + 1 >= Self.attempts else {
            suspect = (alone.sequence, before + 1)
            return nil
        }
        suspect = nil
        return alone.sequence
    }
}
