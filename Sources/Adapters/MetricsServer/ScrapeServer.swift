package import LinuxIO

/// Serves a program's metrics on a loopback port or a Unix socket.
///
/// It belongs to a loop and never blocks. A client that has not finished after 5 s is dropped. The
/// server collects requests, and the loop's owner answers them.
package struct ScrapeServer: ~Copyable {
    package static let connectionLimit = 16
    package static let patience = Duration.seconds(5)

    private enum Listener: ~Copyable {
        case port(LoopbackSocket)
        case socket(ControlSocket)
    }

    private struct Client {
        let connection: StreamConnection
        let deadline: Duration
        /// Whether the request is complete. Later bytes are dropped.
        var hasAsked = false
        /// How many times later bytes were read, at most 4 KiB each time.
        var discarded = 0
    }

    private let listener: Listener
    private let checksHost: Bool
    private var clients: [Int: Client] = [:]
    private var next = 0
    private var listenerSlot: Int?
    private var slots: [(client: Int, slot: Int)] = []
    private var asked: [Int] = []

    /// Listens on a port that only this machine can reach. Nothing is answered yet.
    package init(host: String, port: UInt16) throws(SystemError) {
        listener = .port(try LoopbackSocket(host: host, port: port))
        checksHost = true
    }

    /// Listens on a Unix socket, for its owner and its group (mode 0660).
    package init(path: String) throws(FileFailure) {
        listener = .socket(try ControlSocket(path: path))
        checksHost = false
    }

    /// The port; 0 on a Unix socket.
    package var port: UInt16 {
        switch listener {
        case .port(let socket): socket.port
        case .socket: 0
        }
    }

    /// When the next slow client is dropped.
    package var nextDeadline: Duration? { clients.values.map(\.deadline).min() }

    package mutating func register(in poller: inout Poller) {
        // New clients wait in the kernel while there is no room, and wake no poll.
        listenerSlot = clients.count < Self.connectionLimit
            ? poller.add(descriptor, read: true, write: false) : nil
        slots.removeAll(keepingCapacity: true)
        for (id, client) in clients {
            let slot = poller.add(
                client.connection.descriptor, read: true, write: client.connection.hasUnsent)
            slots.append((id, slot))
        }
    }

    package mutating func collect(_ poller: borrowing Poller, at now: Duration) {
        for (id, slot) in slots {
            if poller.isWritable(slot), clients[id]?.connection.hasUnsent == true { flush(id) }
            if poller.isReadable(slot) { read(id) }
        }
        for (id, client) in clients where client.deadline <= now { clients[id] = nil }
        guard let listenerSlot, poller.isReadable(listenerSlot) else { return }
        while clients.count < Self.connectionLimit, let connection = try? accept() {
            clients[next] = Client(connection: connection, deadline: now + Self.patience)
            next += 1
        }
    }

    /// The clients that asked for metrics since the last call. Each needs one `answer`.
    package mutating func takeAsked() -> [Int] {
        defer { asked.removeAll(keepingCapacity: true) }
        return asked
    }

    /// Answers a client and closes the connection once the answer is sent.
    package mutating func answer(_ id: Int, _ bytes: [UInt8]) {
        guard let connection = clients[id]?.connection else { return }
        guard connection.send(bytes) else {
            clients[id] = nil
            return
        }
        if !connection.hasUnsent { connection.finish() }
    }

    private var descriptor: Int32 {
        switch listener {
        case .port(let socket): socket.descriptor
        case .socket(let socket): socket.descriptor
        }
    }

    private func accept() throws(SystemError) -> StreamConnection? {
        switch listener {
        case .port(let socket): try socket.accept()
        case .socket(let socket): try socket.acceptStream()
        }
    }

    private mutating func flush(_ id: Int) {
        guard let connection = clients[id]?.connection else { return }
        guard connection.flush() else {
            clients[id] = nil
            return
        }
        // Only sending ends: after a full close the client's next bytes would make the kernel drop
        // the answer.
        if !connection.hasUnsent { connection.finish() }
    }

    private mutating func read(_ id: Int) {
        guard let client = clients[id] else { return }
        guard !client.hasAsked else {
            // A well-behaved client sends nothing more; a hostile one could keep the server
            // reading.
            clients[id]?.discarded += 1
            if !client.connection.discard() || client.discarded > 1 { clients[id] = nil }
            return
        }
        guard case .bytes(let bytes) = client.connection.read(limit: ScrapeRequest.limit) else {
            clients[id] = nil
            return
        }
        switch ScrapeRequest(bytes, checksHost: checksHost) {
        case .incomplete: return
        case .figures:
            clients[id]?.hasAsked = true
            asked.append(id)
        case .refused(let refusal):
            clients[id]?.hasAsked = true
            answer(id, ScrapeAnswer.refusal(refusal))
        }
    }
}
