import AuthorityCore
import AuthorityStore
import Synchronization

/// This authority's place among those that serve from one store. While one of them has a place,
/// no command puts an earlier state under them.
final class Presence: Sendable {
    private let store: any ServiceStore
    private let place: Mutex<any StoreHold>

    private static let name = "serve"
    /// How soon a place is taken again that went with a connection to the database.
    private static let rhythm = Duration.seconds(1)

    /// Waits while a command has the store for itself, half a minute at most.
    init(in store: any ServiceStore) async throws {
        self.store = store
        place = Mutex(try await StateFolder.taken("restore") { () async throws(AuthorityError) in
            try await store.share(Self.name)
        })
    }

    /// Until its task is cancelled.
    func keep() async {
        while !Task.isCancelled {
            await pause(Self.rhythm)
            guard !place.withLock({ $0.isHeld }), let again = await attempt() else { continue }
            place.withLock { $0 = again }
        }
    }

    /// A database that is away is told of by all else that needs it.
    private func attempt() async -> (any StoreHold)? {
        do throws(AuthorityError) { return try await store.share(Self.name) } catch { return nil }
    }

    /// The store for a command alone.
    ///
    /// - Throws: `StateFolderError.servedFrom` while an authority serves from it, wherever.
    static func alone(in store: any ServiceStore, _ folder: StateFolder) async throws
        -> any StoreHold
    {
        guard let hold = try await store.hold(name) else {
            throw StateFolderError.servedFrom(folder.recordPlace)
        }
        return hold
    }
}
