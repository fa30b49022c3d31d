import MQTT

/// One connection to the broker, and the boards on it: one board, or many that share it.
final class FleetLine {
    enum Phase {
        case idle
        case connecting
        /// The broker has let it in.
        case open
        /// No further try is made: the authority has removed the login.
        case done
    }

    /// What an acknowledgement of the broker is for.
    enum Awaited {
        case sealed
        case telemetry(board: Int, sequence: Int64)
        case subscription([Int])
        case status
    }

    let boards: [Int]
    let clientID: String
    var connection: Connection?
    var phase = Phase.idle
    var retryAt: Duration?
    /// When a try is given up.
    var deadline: Duration?
    /// In a row, without having been let in.
    var failures = 0
    /// Whether the next try is made with the password of the claim.
    var isByClaim = false
    /// Whether it is let in by the password of the claim.
    var showsClaim = false
    /// What the readiness queue knows of it.
    var watched: (descriptor: Int32, read: Bool, write: Bool)?
    var awaited: [Int32: Awaited] = [:]
    /// Whether it stands among those to be written.
    var isDirty = false
    private var queue: [(OutgoingMessage, Awaited)] = []
    private var head = 0

    init(boards: [Int], clientID: String) {
        self.boards = boards
        self.clientID = clientID
    }

    /// Whether it stands by a password that is not its board's any more: the authority ends such
    /// a connection. Source: the wire contract, Identities and claims.
    func isOutdated(for board: FleetBoard) -> Bool {
        phase == .open && showsClaim && board.base.life?.brokerPassword != nil
    }

    func add(_ message: OutgoingMessage, _ awaited: Awaited) { queue.append((message, awaited)) }

    func forgetQueue() {
        queue.removeAll()
        head = 0
    }

    /// Gives the connection what it has room for, and writes.
    func pump() throws(MQTTError) {
        guard phase == .open, connection?.isConnected == true else { return }
        while head < queue.count, (connection?.unacknowledged ?? 0) < Connection.inFlightWindow {
            let (message, why) = queue[head]
            head += 1
            if let packetID = try connection?.publish(message) { awaited[packetID] = why }
        }
        if head == queue.count { forgetQueue() }
    }
}
