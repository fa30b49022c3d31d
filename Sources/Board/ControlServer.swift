import AgentCore
import LinuxIO
import Sessions
import Wire

/// The agent's control socket: one JSON line in, one JSON line out.
///
/// Who may speak is the socket's mode (0660, the agent's group): `pair` answers with a secret.
struct ControlServer: ~Copyable {
    private static let connectionLimit = 16

    private let socket: ControlSocket
    private var connections: [Int: ControlConnection] = [:]
    private var next = 0
    private var socketSlot = 0
    private var slots: [(connection: Int, slot: Int)] = []

    init(path: String) throws(FileFailure) {
        socket = try ControlSocket(path: path)
    }

    mutating func register(in poller: inout Poller) {
        socketSlot = poller.add(socket.descriptor, read: true, write: false)
        slots.removeAll(keepingCapacity: true)
        for (id, connection) in connections {
            let slot = poller.add(
                connection.descriptor, read: true, write: connection.hasUnsent)
            slots.append((id, slot))
        }
    }

    mutating func collect(_ poller: borrowing Poller, into events: inout [AgentEvent]) {
        for (id, slot) in slots {
            if poller.isWritable(slot), connections[id]?.flush() == false { connections[id] = nil }
            if poller.isReadable(slot) { read(id, into: &events) }
        }
        guard poller.isReadable(socketSlot), connections.count < Self.connectionLimit,
            let connection = try? socket.accept()
        else { return }
        connections[next] = connection
        next += 1
    }

    private mutating func read(_ id: Int, into events: inout [AgentEvent]) {
        guard let connection = connections[id] else { return }
        switch connection.read() {
        case .incomplete: break
        case .closed, .tooLong: connections[id] = nil
        case .line(let line):
            if let request = Self.request(line) {
                events.append(.control(request, connection: id))
            } else {
                answer(id, Refusal(.invalidJSON, "unknown request").json)
            }
        }
    }

    private static func request(_ line: [UInt8]) -> ControlRequest? {
        guard let json = try? JSONObject(parsing: line, limit: 4096) else { return nil }
        return try? json.parsed("request", ControlRequest.init)
    }

    mutating func answer(_ id: Int, _ json: JSONValue) {
        guard let connection = connections[id] else { return }
        if !connection.send(json.bytes + [UInt8(ascii: "\n")]) { connections[id] = nil }
    }
}
