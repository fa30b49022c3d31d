import LinuxIO
import Synchronization

/// What the thread of a part of the fleet is told.
enum FleetOrder: Sendable {
    /// The authority knows this board now: it may look for its provisioning.
    case claimed(Int)
    case begin(FleetLoad)
    /// Nothing new is begun.
    case wind
    case sumUp
    case close
}

/// How a part of the fleet stands.
struct FleetStanding: Equatable, Sendable {
    var paired = 0
    /// Boards whose inbox is subscribed.
    var connected = 0
    /// Boards that hold a session.
    var alive = 0
    /// Of these, those that are not connected.
    var stranded = 0
    var over = 0
    /// Boards that wait for an answer, or have telemetry left.
    var unsettled = 0
    /// Boards that wait because the authority told them to.
    var putOff = 0
    var answers = 0
    var errors = 0
    var violations = 0

    /// Whether nothing is on its way, and who lives is connected.
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

/// What a part of the fleet came to.
struct FleetResult: Sendable {
    var pairing = FleetTally()
    var load = FleetTally()
    var standing = FleetStanding()
}

/// All that the thread of a part of the fleet shares with the tasks.
final class FleetPost: Sendable {
    private struct State {
        var orders: [FleetOrder] = []
        var standing = FleetStanding()
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

    var standing: FleetStanding {
        get { state.withLock { $0.standing } }
        set { state.withLock { $0.standing = newValue } }
    }

    /// Nil until it has summed up.
    var result: FleetResult? {
        get { state.withLock { $0.result } }
        set { state.withLock { $0.result = newValue } }
    }
    /// Why the thread could not begin.
    var fault: SystemError? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }
}
