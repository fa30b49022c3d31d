import LinuxIO
import Synchronization

/// Listens to one channel, on its own connection and thread. It reconnects when the connection is
/// lost.
///
/// Source: PostgreSQL, `LISTEN`, `NOTIFY`; 34.9 "Asynchronous Notification".
package final class PostgresListener: Sendable {
    /// An event for the reader.
    package enum Event: Equatable, Sendable {
        /// From now on nothing is missed; earlier messages may be lost. Comes at the start, after
        /// each reconnect, and if the reader was too slow.
        case listening
        case payload(String)
    }

    /// One task reads the events. They end with `close`.
    package let events: AsyncStream<Event>
    private let core: ListenerCore

    /// The most events that wait for the reader.
    private static let backlog = 1024

    /// Starts to connect and returns at once. `channel` is one of our identifiers, such as
    /// `postern_changes`.
    package init(
        _ address: PostgresAddress, channel: String
    ) throws(PostgresError) {
        let (events, relay) = EventRelay.make(backlog: Self.backlog)
        self.events = events
        do throws(SystemError) {
            let core = ListenerCore(
                address: address, channel: channel, relay: relay, bell: try EventDescriptor())
            self.core = core
            try WorkerThread(name: "db-listener") { core.listen() }.detach()
        } catch {
            throw PostgresError(error)
        }
    }

    deinit { core.close() }

    /// Ends the stream and, soon after, the connection.
    package func close() { core.close() }
}

/// The limited queue of events that the reader has not read yet.
struct EventRelay {
    private let continuation: AsyncStream<PostgresListener.Event>.Continuation

    static func make(
        backlog: Int
    ) -> (events: AsyncStream<PostgresListener.Event>, relay: EventRelay) {
        let (events, continuation) = AsyncStream.makeStream(
            of: PostgresListener.Event.self, bufferingPolicy: .bufferingNewest(backlog))
        return (events, EventRelay(continuation: continuation))
    }

    func pass(_ event: PostgresListener.Event) {
        // A full queue drops its oldest event. `listening` is then the newest event: something was
        // missed.
        if case .dropped = continuation.yield(event) { continuation.yield(.listening) }
    }

    func end() { continuation.finish() }
}

private final class ListenerCore: Sendable {
    private let address: PostgresAddress
    private let channel: String
    private let relay: EventRelay
    private let bell: EventDescriptor
    private let isClosed = Atomic(false)

    init(
        address: PostgresAddress, channel: String, relay: EventRelay, bell: EventDescriptor
    ) {
        self.address = address
        self.channel = channel
        self.relay = relay
        self.bell = bell
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        relay.end()
        bell.raise()
    }

    func listen() {
        let watch = ConnectionWatch(bell)
        var failures = 0
        while !isClosed.load(ordering: .acquiring) {
            if let connection = connect() {
                failures = 0
                relay.pass(.listening)
                attend(connection, watch)
            }
            let chance = Double.random(in: 0...1)
            watch.wait(for: nil, Outage.pause(after: failures, chance: chance))
            failures += 1
        }
    }

    /// Nil while the database is away. The pool reports the outage to its callers.
    private func connect() -> PostgresConnection? {
        do throws(PostgresError) {
            let connection = try PostgresConnection(address)
            let name = channel.replacing("\"", with: "\"\"")
            _ = try connection.change("LISTEN \"\(name)\"")
            return connection
        } catch {
            return nil
        }
    }

    /// Passes on messages until the connection is gone.
    private func attend(_ connection: PostgresConnection, _ watch: ConnectionWatch) {
        while !isClosed.load(ordering: .acquiring) {
            let isAlive = connection.isAlive
            for payload in connection.takeNotifications() { relay.pass(.payload(payload)) }
            guard isAlive else { return }
            watch.wait(for: connection)
        }
    }
}
