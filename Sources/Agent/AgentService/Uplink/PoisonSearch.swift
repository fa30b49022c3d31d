import AgentCore
import MQTT

/// How a connection ended that had been made.
enum ConnectionEnd: Equatable, Sendable {
    /// The broker said why, in its DISCONNECT.
    case told(UInt8)
    /// The other end closed it in order: TCP's FIN, or TLS's own end.
    case closed
    /// Everything else: reset, timed out, broken.
    case broken

    /// What the DISCONNECT says of all writes, if it does.
    var refusal: WriteHold? {
        switch self {
        case .told(ReasonCode.notAuthorized): .forbidden
        case .told(ReasonCode.quotaExceeded): .refused(ReasonCode.text(ReasonCode.quotaExceeded))
        default: nil
        }
    }

    /// Whether a broker that cannot take a write may end the connection so. Codes of MQTT 5
    /// §3.14.2.1 that speak of a packet, not of the client or of the broker's state.
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
/// A broker may answer a write that it cannot take by ending the connection. Sent again over
/// each new one, that write would hold up all others for ever. A network that fails looks
/// alike, and must cost no write. So this is an experiment with a control:
///
/// - After two connections in a row that ended with writes in flight and not one of them
///   answered, writes are sent singly, from the head.
/// - Before such a write, messages of another kind go over the same connection one after the
///   other, and the broker has to acknowledge each: 8 before the first try, 12 before the
///   second, 16 before the third.
/// - The write is to blame when it ends three such connections in a row, each within 5 s and
///   each by the broker's own word: a DISCONNECT that speaks of the packet, or an end in order.
///   A reset and a stall begin the count anew; an end among the controls ends the search, since
///   the network is at fault, and a short-lived connection may have time for writes alone.
///
/// A network that drops at any acknowledgement with probability p spares n controls and hits
/// the write with (1-p)^n·p, at most 1/(e(n+1)): three in a row are less than 1 in 39,000 for
/// the worst p, and the search begins only where two connections brought nothing. A broker that
/// ends connections by reset holds the queue instead, which costs time and no write.
struct PoisonSearch: Sendable {
    static let fruitlessLimit = 2
    static let attempts = 3
    static let patience = Duration.seconds(5)

    /// How many connections in a row ended with writes in flight and none answered.
    private var fruitless = 0
    /// Whether a write was answered over this connection.
    private var hasAnswered = false
    /// How many other messages were acknowledged over this connection.
    private var controls = 0
    private var isControlOut = false
    /// The write that may be to blame, and how many connections it ended alone.
    private var suspect: (sequence: Int64, endings: Int)?

    /// Whether writes are sent singly.
    var isOn: Bool { fruitless >= Self.fruitlessLimit }

    private var controlsWanted: Int { 8 + 4 * (suspect?.endings ?? 0) }

    /// Whether the next write may be sent, one being in flight at the most.
    var isReady: Bool { !isOn || controls >= controlsWanted }

    /// Whether another message is to be sent, to see that the connection carries it.
    var wantsControl: Bool { isOn && !isControlOut && controls < controlsWanted }

    mutating func controlSent() { isControlOut = true }

    mutating func connectionBegan() {
        hasAnswered = false
        controls = 0
        isControlOut = false
    }

    /// The broker answered a write, whatever it said: it takes packets, and the network them.
    mutating func writeAnswered() {
        hasAnswered = true
        fruitless = 0
        suspect = nil
    }

    mutating func controlAnswered() {
        controls += 1
        isControlOut = false
    }

    /// Books the end of a connection. Returns the write that is to blame, once that is shown.
    ///
    /// - Parameter alone: the write in flight and since when, if there was one and no other.
    mutating func connectionEnded(
        _ end: ConnectionEnd, inFlight: Int, alone: (sequence: Int64, sentAt: Duration)?,
        at now: Duration
    ) -> Int64? {
        let hadControls = controls > 0
        let hadAnswers = hasAnswered
        let wasOn = isOn
        connectionBegan()
        guard inFlight > 0 else {
            // A connection that never carried anything says nothing of what it would carry.
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
