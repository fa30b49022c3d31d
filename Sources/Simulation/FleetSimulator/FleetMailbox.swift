import LinuxIO
import Synchronization

/// An order for the thread of one shard.
enum FleetOrder: Sendable {
    /// The board was claimed, so it can look for its provisioning.
    case claimed(Int)
    case begin(FleetLoad)
    /// Start nothing new.
    case wind
    case sumUp
    case close
}

/// The current state of one shard.
struct FleetState: Equatable, Sendable {
    var paired = 0
    /// Boards with a subscribed inbox.
    var connected = 0
    /// Boards that hold a session.
    var alive = 0
    /// Boards with a session, but without a connection.
    var stranded = 0
    var over = 0
    /// Boards that wait for an answer, or still have telemetry to send.
    var unsettled = 0
    /// Boards that wait because the authority postponed them.
    var putOff = 0
    var answers = 0
    var errors = 0
    var violations = 0

    /// Whether no request is open, and every board with a session is connected.
    var isAtRest: Bool { unsettled == 0 && stranded == 0 }

    static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.paired += right.paired
        sum.connected += right.connected
        sum.alive += right.alive
        sum.stranded += right.stranded
        sum.over += right.over
        sum.unsettled += right.unsettled
        sum.putOff += right.putOff
        sum.answers += right.answers
        sum.errors += right.errors
        sum.violations += right.violations
        return sum
    }
}

/// The results of one shard.
struct FleetResult: Sendable {
    var pairing = FleetTally()
    var load = FleetTally()
    var standing = FleetState()
}

/// The data that a shard's thread shares with other tasks.
final class FleetMailbox: Sendable {
    private struct State {
        var orders: [FleetOrder] = []
        var standing = FleetState()
        var result: FleetResult?
        var fault: SystemError?
    }

    let event: EventDescriptor
    private let state = Mutex(State())

    init() throws(SystemError) { event = try EventDescriptor() }

    func give(_ order: FleetOrder) {
        state.withLock { $0.orders.append(order) }
        event.raise()
    }

    func takeOrders() -> [FleetOrder] {
        event.take()
        return state.withLock { state in
            defer { state.orders.removeAll() }
            return state.orders
        }
    }

    var standing: FleetState {
        get { state.withLock { $0.standing } }
        set { state.withLock { $0.standing = newValue } }
    }

    /// Nil until the thread has summed up.
    var result: FleetResult? {
        get { state.withLock { $0.result } }
        set { state.withLock { $0.result = newValue } }
    }
    /// Why the thread could not start.
    var fault: SystemError? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }
}
