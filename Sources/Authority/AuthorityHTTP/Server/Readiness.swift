import Synchronization

/// Tells load balancers whether requests should come here, and ends the server in order.
///
/// `GET /postern/v1/health` is 200 only while the server should receive requests. The server
/// answers all requests until `close`, whatever `health` says.
package final class Readiness: Sendable {
    private struct State {
        var isDraining = false
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        /// When the last check ended.
        var looked: ContinuousClock.Instant?
        var isWell = true
        var isLooking = false
        /// The number of the last check.
        var number = 0
        /// The request that waits for the check.
        var asker: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let look: @Sendable () async -> Bool
    private let isFull: @Sendable () -> Bool
    /// Whether boards' data waits at the broker. Requests may come all the same.
    let isDataWaiting: @Sendable () -> Bool
    /// A check's result counts for this long, however many clients ask.
    private static let age = Duration.seconds(1)
    private let patience: Duration

    /// `look` checks whether the database answers now. A check that takes longer than `patience`
    /// has failed. `isFull`: the disk of the store is full.
    package init(
        within patience: Duration = .seconds(2),
        _ look: @escaping @Sendable () async -> Bool = { true },
        isFull: @escaping @Sendable () -> Bool = { false },
        isDataWaiting: @escaping @Sendable () -> Bool = { false }
    ) {
        self.isDataWaiting = isDataWaiting
        self.isFull = isFull
        self.patience = patience
        self.look = look
    }

    /// From now on requests should go elsewhere.
    package func drain() { state.withLock { $0.isDraining = true } }

    var isDraining: Bool { state.withLock { $0.isDraining } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Ends the server: it accepts no new connection, finishes each open request, and closes the
    /// connections without one.
    package func close() {
        let action = state.withLock { state in
            state.isDraining = true
            state.isClosed = true
            return state.onClose
        }
        action?()
    }

    /// Sets the action of `close`. Runs it at once if `close` was called before.
    func onClose(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            state.onClose = action
            return state.isClosed
        }
        if isClosed { action() }
    }

    enum Word: String {
        case ok, draining, storeAway = "store-away", storeFull = "store-full"
    }

    func word() async -> Word {
        let mine = state.withLock { state -> Int? in
            guard !state.isDraining, !state.isLooking else { return nil }
            let isFresh = state.looked.map { ContinuousClock.now - $0 < Self.age } ?? false
            guard !isFresh else { return nil }
            state.isLooking = true
            state.number += 1
            return state.number
        }
        if let mine { await examine(mine) }
        return state.withLock { state in
            if state.isDraining { return .draining }
            if !state.isWell { return .storeAway }
            return isFull() ? .storeFull : .ok
        }
    }

    /// Runs one check at a time; requests meanwhile get the previous result. Returns when the check
    /// ends or `patience` has passed. A check that hangs cannot be cancelled, so nothing waits for
    /// it.
    private func examine(_ number: Int) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.asker = continuation }
            Task { settle(number, await look(), isOver: true) }
            Task {
                try? await Task.sleep(for: patience)
                settle(number, false, isOver: false)
            }
        }
    }

    /// Stores a check's result. An overdue check goes on, and no other starts until it ends; its
    /// result still counts.
    private func settle(_ number: Int, _ outcome: Bool, isOver: Bool) {
        let asker = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.isLooking, state.number == number else { return nil }
            state.isWell = outcome
            state.isLooking = !isOver
            if isOver { state.looked = .now }
            defer { state.asker = nil }
            return state.asker
        }
        asker?.resume()
    }
}
