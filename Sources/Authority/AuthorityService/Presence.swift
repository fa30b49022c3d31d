import AuthorityBroker
import AuthorityCore
package import AuthorityStore
import Synchronization

/// The shared lock of each authority that serves from one store. While any authority holds it, no
/// command can restore an earlier state of the store.
package final class Presence: Sendable {
    private let store: any ServiceStore
    private let place: Mutex<any StoreHold>

    private static let name = "serve"
    /// How often the lock is checked. It is taken again after the database connection that held it
    /// was lost.
    private static let rhythm = Duration.seconds(1)

    /// Waits while a command holds the store alone, for half a minute at most.
    init(in store: any ServiceStore) async throws {
        self.store = store
        place = Mutex(try await StateFolder.taken("restore") { () async throws(AuthorityError) in
            try await store.share(Self.name)
        })
    }

    /// Keeps the lock until its task is cancelled.
    func keep() async {
        while !Task.isCancelled {
            await pause(Self.rhythm)
            guard !place.withLock({ $0.isHeld }), let again = await attempt() else { continue }
            place.withLock { $0 = again }
        }
    }

    /// Nil if the database is down; the other parts that need it log that.
    private func attempt() async -> (any StoreHold)? {
        do throws(AuthorityError) { return try await store.share(Self.name) } catch { return nil }
    }

    /// Locks the store for one command.
    ///
    /// - Throws: `StateFolderError.servedFrom` while an authority on any machine serves from it.
    package static func alone(in store: any ServiceStore, _ folder: StateFolder) async throws
        -> any StoreHold
    {
        guard let hold = try await store.hold(name) else {
            throw StateFolderError.servedFrom(folder.recordPlace)
        }
        return hold
    }
}
