import AuthorityCore
import AuthorityStore
import Synchronization
import Wire

/// What one authority of several does at the broker, and whether it is this one.
///
/// It keeps what boards say of themselves, which all hear. Where the broker cannot share a
/// subscription it also reads the boards' requests, which then no other does.
final class ReaderDuty: Sendable {
    enum Change { case none, gained, lost }

    private struct State {
        var hold: (any StoreHold)?
        /// Whether each request reaches one of the authorities, whichever.
        var isSharing = true
        var isOver = false
    }

    private let state = Mutex(State())
    private let take: @Sendable () async throws(AuthorityError) -> (any StoreHold)?
    /// Whether another could want it; else it is ours as long as we are connected.
    let isContested: Bool

    /// How long another may have gone before it is missed, and a hold that is lost.
    static let rhythm = Duration.milliseconds(500)

    init(
        isContested: Bool = true,
        _ take: @escaping @Sendable () async throws(AuthorityError) -> (any StoreHold)?
    ) {
        self.isContested = isContested
        self.take = take
    }

    /// Of a topic root of a store.
    convenience init(_ store: any ServiceStore, root: TopicRoot) {
        self.init(isContested: store.isShared) { () async throws(AuthorityError) in
            try await store.hold("reader \(root)")
        }
    }

    /// Whether it is ours to keep what boards say of themselves.
    var isReader: Bool { state.withLock { $0.hold?.isHeld ?? false } }

    /// What it is to have it, for the log.
    var words: String {
        state.withLock { $0.isSharing } ? "this authority keeps what boards say of themselves"
            : "this authority reads for all"
    }

    /// Whether it is ours to answer a board.
    var mayAnswer: Bool { state.withLock { $0.isSharing || $0.hold?.isHeld ?? false } }

    /// After each connect: what the broker can do, and a first try.
    func begin(isSharing: Bool) async {
        state.withLock { $0.isSharing = isSharing }
        _ = await look()
    }

    /// Takes the duty where it is free, and notices its loss.
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

    /// A database that is away is told of by all else that needs it.
    private func attempt() async -> (any StoreHold)? {
        do throws(AuthorityError) { return try await take() } catch { return nil }
    }

    /// Leaves it to another at once; `forGood`: it is not taken again.
    func release(forGood: Bool = false) async {
        let hold = state.withLock { state in
            if forGood { state.isOver = true }
            defer { state.hold = nil }
            return state.hold
        }
        await hold?.release()
    }
}
