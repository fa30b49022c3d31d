import AgentCore
import Gate
import MQTT
import Sessions
import Wire

/// A simulated board's records and outbox, in memory. Like a disk, they outlive the agent.
struct FleetStore: Sendable {
    private(set) var records: BoardRecords
    /// Writes that wait to be sent, in order. The next field has those that wait for their PUBACK.
    private var waiting: [AcceptedWrite] = []
    private var sent: [Int64: AcceptedWrite] = [:]
    private var bytes: Int64 = 0
    /// After a refused write, nothing is sent before this time.
    private var notBefore = Duration.zero
    /// The user whose writes may be sent; nil: none may.
    private var user: UserID?

    /// The most writes that wait for a PUBACK.
    private static let window = 20
    private static let pauseAfterRefusal = Duration.seconds(5)

    init(_ identity: BoardIdentity) { records = BoardRecords(identity: identity) }

    /// Makes all changes. Returns the sequence numbers of the new writes.
    mutating func commit(_ changes: [RecordChange]) -> [Int64] {
        var new: [Int64] = []
        for change in changes {
            switch change {
            case .claim(let claim): records.claim = claim
            case .join(let join): records.join = join
            case .trust(let trust): records.trust = trust
            case .session(let session): records.session = session
            case .memory(let memory): records.memory = memory
            case .commands(let commands): records.commands = commands
            case .append(let writes, _, _):
                waiting += writes
                bytes += writes.reduce(0) { $0 + Int64($1.payload.count) }
                new += writes.map(\.sequence)
                records.lastSequence = new.last ?? records.lastSequence
            case .expire(let span): drop { span.contains($0.acceptedAt) }
            case .destroyQueue: drop { _ in true }
            case .lose, .clearWindow: break
            }
        }
        return new
    }

    private mutating func drop(where isOver: (AcceptedWrite) -> Bool) {
        waiting.removeAll(where: isOver)
        bytes = (waiting + sent.values).reduce(0) { $0 + Int64($1.payload.count) }
    }
}

// Forwarding: a write stays until the broker has it, over any number of connections.
extension FleetStore {
    var isEmpty: Bool { waiting.isEmpty && sent.isEmpty }

    var queue: QueueState {
        QueueState(
            messages: Int64(waiting.count + sent.count), bytes: bytes,
            oldest: waiting.first?.acceptedAt)
    }

    /// Starts or stops forwarding. Writes without a PUBACK are sent again, in order.
    mutating func forward(_ user: UserID?) {
        guard user != self.user else { return }
        self.user = user
        waiting = sent.values.sorted { $0.sequence < $1.sequence } + waiting
        sent.removeAll()
    }

    /// The next write to send, if there is room.
    mutating func take(at now: Duration) -> AcceptedWrite? {
        guard now >= notBefore, sent.count < Self.window, let first = waiting.first,
            first.user == user
        else { return nil }
        sent[first.sequence] = first
        return waiting.removeFirst()
    }

    /// The time of the next sending; nil if nothing can be sent.
    var retryAt: Duration? {
        user != nil && waiting.first?.user == user && sent.count < Self.window ? notBefore : nil
    }

    mutating func acknowledged(_ sequence: Int64) {
        guard let write = sent.removeValue(forKey: sequence) else { return }
        bytes -= Int64(write.payload.count)
    }

    mutating func refused(_ sequence: Int64, at now: Duration) {
        notBefore = now + Self.pauseAfterRefusal
        guard let write = sent.removeValue(forKey: sequence) else { return }
        waiting.insert(write, at: 0)
    }
}

extension AcceptedWrite {
    /// The message for the upstream broker. Source: the wire contract, Data topics and properties.
    var message: OutgoingMessage {
        OutgoingMessage(
            topic: topic, payload: payload,
            properties: MessageProperties(userProperties: [
                UserProperty("sid", session.description), UserProperty("seq", String(sequence)),
                UserProperty("ts", String(acceptedAt.milliseconds)),
                UserProperty("app", app.description),
            ]))
    }
}
