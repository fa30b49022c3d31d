import AuthorityCore
package import AuthorityStore
import Synchronization
package import Wire

/// The reader duty: the work at the broker that only one of several authorities does.
///
/// The authority with the duty stores the boards' statuses, which all of them receive. If the
/// broker has no shared subscriptions, it also reads the boards' requests, and no other does.
/// It does not concern the boards' data: each authority reads all of it.
package final class ReaderDuty: Sendable {
    enum Change { case none, gained, lost }

    private struct State {
        var hold: (any StoreHold)?
        /// Whether the broker shares subscriptions, so that each request reaches exactly one
        /// authority.
        var isSharing = true
        var isOver = false
    }

    private let state = Mutex(State())
    private let take: @Sendable () async throws(AuthorityError) -> (any StoreHold)?
    /// Whether other authorities compete for the duty. If not, it is held as long as the connection
    /// lasts.
    let isContested: Bool

    /// How often to check whether the duty is free, or its lock is lost.
    static let rhythm = Duration.milliseconds(500)

    init(
        isContested: Bool = true,
        _ take: @escaping @Sendable () async throws(AuthorityError) -> (any StoreHold)?
    ) {
        self.isContested = isContested
        self.take = take
    }

    /// The duty for one topic root of a store.
    package convenience init(_ store: any ServiceStore, root: TopicRoot) {
        self.init(isContested: store.isShared) { () async throws(AuthorityError) in
            try await store.hold("reader \(root)")
        }
    }

    /// Whether this authority stores the boards' statuses.
    package var isReader: Bool { state.withLock { $0.hold?.isHeld ?? false } }

    /// Describes the duty, for the log.
    var words: String {
        state.withLock { $0.isSharing } ? "this authority stores the boards' status"
            : "this authority reads the boards' messages for all"
    }

    /// Whether this authority may answer a board.
    package var mayAnswer: Bool { state.withLock { $0.isSharing || $0.hold?.isHeld ?? false } }

    /// Call this after each connect. It notes whether the broker shares subscriptions, and tries to
    /// take the duty.
    func begin(isSharing: Bool) async {
        state.withLock { $0.isSharing = isSharing }
        _ = await look()
    }

    /// Takes the duty if it is free, and detects its loss.
    func look() async -> Change {
        let (hold, isOver) = state.withLock { ($0.hold, $0.isOver) }
        if let hold {
            guard !hold.isHeld else { return .none }
            state.withLock { $0.hold = nil }
            return .lost
        }
        guard !isOver, let taken = await attempt() else { return .none }
        let isKept = state.withLock { state in
            if !state.isOver { state.hold = taken }
            return !state.isOver
        }
        guard isKept else {
            await taken.release()
            return .none
        }
        return .gained
    }

    /// Nil if the database is down; the other parts that need it log that.
    private func attempt() async -> (any StoreHold)? {
        do throws(AuthorityError) { return try await take() } catch { return nil }
    }

    /// Releases the duty at once. `forGood`: it is not taken again.
    func release(forGood: Bool = false) async {
        let hold = state.withLock { state in
            if forGood { state.isOver = true }
            defer { state.hold = nil }
            return state.hold
        }
        await hold?.release()
    }
}
