import LinuxIO
import Sessions
import Synchronization
import Wire

/// Claims a fleet's boards as the caller, several at once.
final class FleetPairing: Sendable {
    private struct State {
        var next = 0
        var isStopped = false
        var times = AnswerTimes()
        var errors = FaultLedger()
        var claimed = 0
    }

    private let client: AuthorityClient
    private let lifetime: Span
    private let state = Mutex(State())

    /// How often a claim is tried where the authority is not to be had or overloaded.
    private static let tries = 10

    init(client: AuthorityClient, lifetime: Span) {
        self.client = client
        self.lifetime = lifetime
    }

    var times: AnswerTimes { state.withLock { $0.times } }
    var errors: FaultLedger { state.withLock { $0.errors } }
    var claimed: Int { state.withLock { $0.claimed } }

    /// No further claim is begun.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Claims the boards that show these URLs, `atOnce` at a time, and tells each one's place.
    /// Ends with the first refusal.
    func claim(
        _ count: Int, atOnce: Int, paired: @escaping @Sendable () -> Int,
        url: @escaping @Sendable (Int) -> String,
        done: @escaping @Sendable (Int) -> Void
    ) async throws(CommandFailure) {
        let failure = await withTaskGroup(of: CommandFailure?.self) { group in
            for _ in 0..<min(atOnce, count) {
                group.addTask {
                    while let place = self.next(below: count) {
                        await self.pause(while: { self.claimed - paired() > atOnce * 8 })
                        do throws(CommandFailure) {
                            try await self.claim(url(place))
                            done(place)
                        } catch {
                            return error
                        }
                    }
                    return nil
                }
            }
            var first: CommandFailure?
            for await failure in group where failure != nil && first == nil {
                first = failure
                self.stop()
            }
            return first
        }
        if let failure { throw failure }
    }

    /// Boards that were claimed and wait for their sessions are not made ever more.
    private func pause(while isCrowded: () -> Bool) async {
        while isCrowded(), !state.withLock({ $0.isStopped }) {
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

    private func claim(_ url: String) async throws(CommandFailure) {
        let order: [String: JSONValue] = [
            "url": .string(url), "durationSeconds": .integer(lifetime.seconds),
        ]
        for attempt in 1...Self.tries {
            let begun = SystemClock.monotonic
            do throws(CommandFailure) {
                _ = try await client.own(.post, "/claims", order)
                return state.withLock { state in
                    state.times.add(SystemClock.monotonic - begun)
                    state.claimed += 1
                }
            } catch {
                // The answer to the try before was lost: the claim is open.
                if case .refused(let refusal) = error, refusal.is(.forbidden), attempt > 1 {
                    return state.withLock { $0.claimed += 1 }
                }
                guard Self.mayPass(error), attempt < Self.tries else { throw error }
                state.withLock { $0.errors.note(.claim(error.sentence)) }
            }
            do {
                try await Task.sleep(for: .milliseconds(200 * (1 << min(attempt, 6))))
            } catch {
                return
            }
        }
    }

    private static func mayPass(_ failure: CommandFailure) -> Bool {
        switch failure {
        case .offline: true
        case .failed(let layer, _): layer == "authority"
        case .refused(let refusal): refusal.is(.rateLimit)
        default: false
        }
    }
}
