import LinuxIO
import Sessions
import Synchronization

/// The result of one attempt to claim a board.
package enum ClaimAnswer: Sendable {
    case claimed
    /// A retry may succeed. The text says why this attempt failed.
    case later(String)
    case refused(any Error)
}

/// Claims a fleet's boards, several at the same time.
final class FleetPairing: Sendable {
    private struct State {
        var next = 0
        var isStopped = false
        var times = AnswerTimes()
        var errors = FaultLedger()
        var claimed = 0
    }

    private let ask: @Sendable (_ url: String, _ isFirst: Bool) async -> ClaimAnswer
    private let state = Mutex(State())

    /// The most attempts for one claim while the authority is unreachable or overloaded.
    private static let tries = 10

    init(_ ask: @escaping @Sendable (_ url: String, _ isFirst: Bool) async -> ClaimAnswer) {
        self.ask = ask
    }

    var times: AnswerTimes { state.withLock { $0.times } }
    var errors: FaultLedger { state.withLock { $0.errors } }
    var claimed: Int { state.withLock { $0.claimed } }

    /// Whether no more claims are started.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func stop() { state.withLock { $0.isStopped = true } }

    /// Claims the boards with these URLs, `atOnce` at a time, and calls `done` with the place of
    /// each. The first refusal ends it.
    func claim(
        _ count: Int, atOnce: Int, paired: @escaping @Sendable () -> Int,
        url: @escaping @Sendable (Int) -> String,
        done: @escaping @Sendable (Int) -> Void
    ) async throws(FleetFailure) {
        let failure = await withTaskGroup(of: FleetFailure?.self) { group in
            for _ in 0..<min(atOnce, count) {
                group.addTask {
                    while let place = self.next(below: count) {
                        await self.pause(while: { self.claimed - paired() > atOnce * 8 })
                        if let failure = await self.claim(url(place)) { return failure }
                        done(place)
                    }
                    return nil
                }
            }
            var first: FleetFailure?
            for await failure in group where failure != nil && first == nil {
                first = failure
                self.stop()
            }
            return first
        }
        if let failure { throw failure }
    }

    /// Waits while too many claimed boards have no session yet.
    private func pause(while isCrowded: () -> Bool) async {
        while isCrowded(), !isStopped {
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return }
        }
    }

    private func next(below count: Int) -> Int? {
        state.withLock { state in
            guard !state.isStopped, state.next < count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    private func claim(_ url: String) async -> FleetFailure? {
        for attempt in 1...Self.tries {
            let begun = SystemClock.monotonic
            switch await ask(url, attempt == 1) {
            case .claimed:
                state.withLock { state in
                    state.times.add(SystemClock.monotonic - begun)
                    state.claimed += 1
                }
                return nil
            case .refused(let error): return .claim(error)
            case .later(let text): state.withLock { $0.errors.note(.claim(text)) }
            }
            do {
                try await Task.sleep(for: .milliseconds(200 * (1 << min(attempt, 6))))
            } catch {
                return nil
            }
        }
        return .offline(layer: "authority", text: "a board could not be claimed")
    }
}

/// Decides when to give up on boards without a session. That is when for `span` no board was
/// claimed, none got its session, and none was postponed.
package struct PairingPatience {
    static let span = Duration.seconds(60)

    private var (paired, claimed) = (0, 0)
    private var changed: Duration

    package init(since begun: Duration) { changed = begun }

    package mutating func isOver(
        paired: Int, claimed: Int, putOff: Int, at now: Duration
    ) -> Bool {
        if paired > self.paired || claimed > self.claimed || putOff > 0 { changed = now }
        (self.paired, self.claimed) = (paired, claimed)
        return now - changed > Self.span
    }
}
