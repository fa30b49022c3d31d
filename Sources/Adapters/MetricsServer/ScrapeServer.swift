package import LinuxIO

/// Gives a program's figures to whoever asks on a loopback port or a Unix socket.
///
/// It belongs to a loop: it never blocks, and who is slow or silent is dropped after 5 s. What
/// is asked for is collected, and answered by the loop's owner.
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
        /// Whether it has asked; what it still says is thrown away.
        var hasAsked = false
        /// How often something of that was read, 4 KiB at the most each time.
        var discarded = 0
    }

    private let listener: Listener
    private let checksHost: Bool
    private var clients: [Int: Client] = [:]
    private var next = 0
    private var listenerSlot: Int?
    private var slots: [(client: Int, slot: Int)] = []
    private var asked: [Int] = []

    /// Listens on a port of this machine alone. Nothing is answered yet.
    package init(host: String, port: UInt16) throws(SystemError) {
        listener = .port(try LoopbackSocket(host: host, port: port))
        checksHost = true
    }

    /// Listens on a Unix socket, for its owner and its group (0660).
    package init(path: String) throws(FileFailure) {
        listener = .socket(try ControlSocket(path: path))
        checksHost = false
    }

    /// Where it listens; 0 on a Unix socket.
    package var port: UInt16 {
        switch listener {
        case .port(let socket): socket.port
        case .socket: 0
        }
    }

    /// When the first of those that are too slow is dropped.
    package var nextDeadline: Duration? { clients.values.map(\.deadline).min() }

    package mutating func register(in poller: inout Poller) {
        // Who calls while there is no room waits in the kernel, without waking anybody.
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

    /// Who has asked for figures since the last call; each is owed one `answer`.
    package mutating func takeAsked() -> [Int] {
        defer { asked.removeAll(keepingCapacity: true) }
        return asked
    }

    /// Answers once, and closes when it has been sent.
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
        // Closed at once, what the client still sends would make the kernel drop the answer.
        if !connection.hasUnsent { connection.finish() }
    }

    private mutating func read(_ id: Int) {
        guard let client = clients[id] else { return }
        guard !client.hasAsked else {
            // A client of good will says nothing more; one of bad will would keep us reading.
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
