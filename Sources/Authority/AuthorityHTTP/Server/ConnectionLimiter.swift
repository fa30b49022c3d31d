import AuthorityCore
import NIOCore
import Synchronization

/// How many connections there may be, and how long a new one may take to send its header.
struct ConnectionLimits: Sendable {
    var all = 1024
    /// From one address. Source: `CountedOrigin`.
    var each = 64
    /// Of the first request, TLS included.
    var header = TimeAmount.seconds(10)
}

/// Bounds the open connections, so that no stranger can hold all of them.
///
/// If a limit is reached, a new connection is accepted and the one that is idle for longest is
/// closed: of the same address, or of all. Our own proxies and a broker that asks us about its
/// clients have no limit of their own, and no connection on which a broker asked is closed.
/// Reads no clock.
final class ConnectionLimiter: Sendable {
    private struct State {
        var entries: [ObjectIdentifier: OpenConnection] = [:]
        var counts: [CountedOrigin: Int] = [:]
        /// Who showed the broker's secret.
        var brokers: Set<String> = []
    }

    let limits: ConnectionLimits
    private let proxies: Set<String>
    private let state = Mutex(State())

    /// `proxies` as `ProxiedOrigin` writes them.
    init(_ limits: ConnectionLimits, proxies: Set<String> = []) {
        self.limits = limits
        self.proxies = proxies
    }

    /// Takes a connection in; `close` may be called later, once. Nil if there is no room,
    /// because the broker asks on all of them.
    func enter(
        from address: String, at now: NIODeadline, close: @escaping @Sendable () -> Void
    ) -> OpenConnection? {
        let connection = OpenConnection(
            from: ProxiedOrigin.plain(address), at: now, close: close)
        let origin = connection.origin
        let (isIn, old) = state.withLock { state -> (Bool, OpenConnection?) in
            var old: OpenConnection?
            if state.counts[origin, default: 0] >= limits.each,
                !proxies.contains(connection.address),
                !state.brokers.contains(connection.address) {
                old = Self.longestIdle(in: state) { $0.origin == origin }
                guard old != nil else { return (false, nil) }
            } else if state.entries.count >= limits.all {
                old = Self.longestIdle(in: state) { _ in true }
                guard old != nil else { return (false, nil) }
            }
            if let old { Self.remove(old, from: &state) }
            state.entries[ObjectIdentifier(connection)] = connection
            state.counts[origin, default: 0] += 1
            return (true, old)
        }
        old?.close()
        return isIn ? connection : nil
    }

    /// After the connection was closed, by whomever.
    func leave(_ connection: OpenConnection) {
        state.withLock { Self.remove(connection, from: &$0) }
    }

    /// The broker showed its secret on this connection.
    func keepForBroker(_ connection: OpenConnection) {
        connection.keep()
        state.withLock { _ = $0.brokers.insert(connection.address) }
    }

    private static func longestIdle(
        in state: State, _ isMeant: (OpenConnection) -> Bool
    ) -> OpenConnection? {
        var found: OpenConnection?
        for next in state.entries.values where !next.isKept && isMeant(next) {
            if next.idleSince < found?.idleSince ?? .max { found = next }
        }
        return found
    }

    private static func remove(_ connection: OpenConnection, from state: inout State) {
        guard state.entries.removeValue(forKey: ObjectIdentifier(connection)) != nil else {
            return
        }
        let left = state.counts[connection.origin, default: 1] - 1
        state.counts[connection.origin] = left > 0 ? left : nil
    }
}

/// A connection as the limiter has it: idle since it came, since its last request's header, or
/// since it was last sent something.
final class OpenConnection: Sendable {
    let address: String
    let origin: CountedOrigin
    let close: @Sendable () -> Void
    private let last: Atomic<UInt64>
    private let kept = Atomic(false)

    init(
        from address: String, at now: NIODeadline, close: @escaping @Sendable () -> Void
    ) {
        self.address = address
        origin = CountedOrigin(address)
        self.close = close
        last = Atomic(now.uptimeNanoseconds)
    }

    var idleSince: UInt64 { last.load(ordering: .relaxed) }
    var isKept: Bool { kept.load(ordering: .relaxed) }

    func isUsed(at now: NIODeadline) { last.store(now.uptimeNanoseconds, ordering: .relaxed) }
    func keep() { kept.store(true, ordering: .relaxed) }
}
