import AuthorityCore
import NIOCore
import Synchronization

/// The limits for open connections, and the time limit for a new connection's first header.
struct ConnectionLimits: Sendable {
    var all = 1024
    /// From one address. Source: `CountedOrigin`.
    var each = 64
    /// For the header of the first request, TLS handshake included.
    var header = TimeAmount.seconds(10)
}

/// Limits the open connections, so that no stranger can hold all of them.
///
/// If a limit is reached, the limiter accepts a new connection and closes the one that is idle for
/// longest: of the same address, or of all. Our own proxies, and a broker that asks about its
/// clients, have no limit per address. A connection on which a broker asked is never closed here.
/// Reads no clock.
final class ConnectionLimiter: Sendable {
    private struct State {
        var entries: [ObjectIdentifier: OpenConnection] = [:]
        var counts: [CountedOrigin: Int] = [:]
        /// The addresses that sent the broker's secret.
        var brokers: Set<String> = []
    }

    let limits: ConnectionLimits
    private let proxies: Set<String>
    private let state = Mutex(State())

    /// `proxies` has the form that `ProxiedOrigin.plain` returns.
    init(_ limits: ConnectionLimits, proxies: Set<String> = []) {
        self.limits = limits
        self.proxies = proxies
    }

    /// Registers a connection. `close` may be called later, once. Nil if there is no room because a
    /// broker uses all the connections that could be closed.
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

    /// Removes a connection that was closed, by the limiter or otherwise.
    func leave(_ connection: OpenConnection) {
        state.withLock { Self.remove(connection, from: &$0) }
    }

    /// Never closes this connection, because the broker sent its secret on it.
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

/// A connection that the limiter counts. It is idle since it opened, since its last request's
/// header, or since the server last sent data on it.
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
