import AgentCore
import LinuxIO
import Sessions
import Wire

/// The agent's control socket: one JSON line in, one JSON line out.
///
/// The socket's mode (0660, the agent's group) decides who may connect: the answer to `pair`
/// contains a secret.
struct ControlServer: ~Copyable {
    /// The limit for all users except root.
    private static let connectionLimit = 16
    private static let connectionsOfUser = 4
    private static let root: UInt32 = 0
    /// The most connections accepted in one turn; more than the socket's backlog (16).
    private static let callsOfTurn = 64
    /// How long a request may take to arrive.
    private static let patience = Duration.seconds(1)
    /// How long an answer that waits for the authority may take. The agent keeps this limit.
    static let answerPatience = Duration.seconds(20)

    private let socket: ControlSocket
    private var connections: [Int: ControlConnection] = [:]
    /// When each connection is dropped.
    private var deadlines: [Int: Duration] = [:]
    private var next = 0
    private var socketSlot: Int?
    private var slots: [(connection: Int, slot: Int)] = []

    init(path: String) throws(FileFailure) {
        socket = try ControlSocket(path: path)
    }

    /// When the first silent connection is dropped.
    var nextDeadline: Duration? { deadlines.values.min() }

    mutating func register(in poller: inout Poller) {
        socketSlot = poller.add(socket.descriptor, read: true, write: false)
        slots.removeAll(keepingCapacity: true)
        for (id, connection) in connections {
            let slot = poller.add(
                connection.descriptor, read: true, write: connection.hasUnsent)
            slots.append((id, slot))
        }
    }

    mutating func collect(
        _ poller: borrowing Poller, at now: Duration, into events: inout [AgentEvent]
    ) {
        for (id, slot) in slots {
            if poller.isWritable(slot), connections[id]?.flush() == false { drop(id) }
            if poller.isReadable(slot) {
                read(id, at: now, into: &events)
            }
        }
        for (id, deadline) in deadlines where deadline <= now { drop(id) }
        guard let socketSlot, poller.isReadable(socketSlot) else { return }
        // Accepts all waiting connections: one of root's may wait behind those of other users.
        for _ in 0..<Self.callsOfTurn {
            guard let connection = try? socket.accept() else { return }
            guard hasRoom(for: connection.peer.user) else { continue }
            connections[next] = connection
            deadlines[next] = now + Self.patience
            next += 1
        }
    }

    /// Whether a user may have one more connection. Other users cannot take root's room.
    private func hasRoom(for user: UInt32) -> Bool {
        let own = connections.values.count { $0.peer.user == user }
        let others = connections.values.count { $0.peer.user != Self.root }
        return own < Self.connectionsOfUser
            && (user == Self.root || others < Self.connectionLimit)
    }

    private mutating func drop(_ id: Int) {
        connections[id] = nil
        deadlines[id] = nil
    }

    private mutating func read(_ id: Int, at now: Duration, into events: inout [AgentEvent]) {
        guard let connection = connections[id] else { return }
        switch connection.read() {
        // The deadline counts from the connect. Slow bytes do not extend it.
        case .incomplete: break
        case .closed, .tooLong: drop(id)
        case .line(let line):
            deadlines[id] = now + Self.answerPatience
            if let request = Self.request(line) {
                events.append(.control(request, connection: id))
            } else {
                answer(id, Refusal(.invalidJSON, "unknown request").json)
            }
        }
    }

    private static func request(_ line: [UInt8]) -> ControlRequest? {
        guard let json = try? JSONObject(parsing: line, limit: 4096) else { return nil }
        return try? ControlRequest(json: json)
    }

    mutating func answer(_ id: Int, _ json: JSONValue) {
        guard let connection = connections[id] else { return }
        if !connection.send(json.bytes + [UInt8(ascii: "\n")]) { drop(id) }
    }
}
