import Synchronization

/// Whether requests should come here: what a load balancer asks before it sends any, and how
/// this server takes its leave.
///
/// `GET /postern/v1/health` is 200 only while it should be sent requests. Whoever does not ask
/// is answered all the same, until `close`.
package final class Readiness: Sendable {
    private struct State {
        var isDraining = false
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        /// The last look at what answers depend on.
        var looked: ContinuousClock.Instant?
        var isWell = true
        var isLooking = false
        /// Which look it is.
        var number = 0
        /// Who waits for it.
        var asker: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let look: @Sendable () async -> Bool
    /// However many ask, what answers depend on is looked at so often.
    private static let age = Duration.seconds(1)
    private let patience: Duration

    /// `look` is whether answers can be had now, of the database. One that takes longer than
    /// `patience` has failed.
    package init(
        within patience: Duration = .seconds(2),
        _ look: @escaping @Sendable () async -> Bool = { true }
    ) {
        self.patience = patience
        self.look = look
    }

    /// From now on requests should go elsewhere.
    package func drain() { state.withLock { $0.isDraining = true } }

    var isDraining: Bool { state.withLock { $0.isDraining } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Ends the server: nobody new is let in, each open request is finished, and what is open
    /// without one is closed.
    package func close() {
        let action = state.withLock { state in
            state.isDraining = true
            state.isClosed = true
            return state.onClose
        }
        action?()
    }

    /// What `close` does; at once where it was called before.
    func onClose(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            state.onClose = action
            return state.isClosed
        }
        if isClosed { action() }
    }

    enum Word: String {
        case ok, draining, storeAway = "store-away"
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
            state.isDraining ? .draining : (state.isWell ? .ok : .storeAway)
        }
    }

    /// The one look at a time; who asks meanwhile hears of the one before. Returns when it is
    /// over or its time is: what hangs cannot be cancelled, and is not waited for.
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

    /// An overdue look goes on, so that there is still one at a time, and what it finds counts.
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
