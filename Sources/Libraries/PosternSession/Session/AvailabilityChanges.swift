import Foundation
import Synchronization

/// Knows whether there is a session, and tells each change to all who follow it.
final class AvailabilityChanges: Sendable {
    typealias Continuation = AsyncStream<SessionAvailability>.Continuation

    private struct State {
        var current = SessionAvailability.unavailable(.loggedOut)
        var isConfirmed = true
        var watchers: [UUID: Continuation] = [:]
    }

    private let state = Mutex(State())

    deinit {
        for watcher in state.withLock({ $0.watchers.values }) { watcher.finish() }
    }

    var current: SessionAvailability { state.withLock { $0.current } }

    /// Begins with the current one. It misses no change from this call on.
    var stream: AsyncStream<SessionAvailability> {
        AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
            let id = UUID()
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) }
            }
            state.withLock { state in
                state.watchers[id] = continuation
                continuation.yield(state.current)
            }
        }
    }

    /// A validation alone is no news, except the first after a launch or an absence.
    /// `isConfirmed` is false for a session that the authority has not answered to since then.
    func set(_ next: SessionAvailability, isConfirmed: Bool) {
        state.withLock { state in
            let isNews = switch (state.current, next) {
            case (.available(let one, _), .available(let other, _)):
                !one.isSame(as: other) || isConfirmed != state.isConfirmed
            // The words of one absence differ from try to try.
            case (.unavailable(.authorityAway), .unavailable(.authorityAway)): false
            default: state.current != next
            }
            state.current = next
            state.isConfirmed = isConfirmed
            guard isNews else { return }
            for watcher in state.watchers.values { watcher.yield(next) }
        }
    }
}
