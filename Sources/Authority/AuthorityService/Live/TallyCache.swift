import AuthorityCore
import AuthorityStore

/// A cache of the counts of the store's records.
///
/// A count scans tables. At most a fiftieth of the time is spent on counting, for any number of
/// callers and records. So a count that took 1 s is kept for 50 s. No count is kept for more than
/// five minutes, even if it was slow because the store was in trouble.
actor TallyCache {
    struct Counted: Equatable, Sendable {
        var tally: StoreTally
        /// The time since the count began.
        var age: Duration
    }

    /// A count is kept for this many times its duration.
    static let restShare = 50
    static let longestRest = Duration.seconds(300)
    /// If the last count took longer, a new one runs in the background, and callers receive the old
    /// one.
    static let patience = Duration.seconds(1)

    private typealias Outcome = Result<StoreTally, AuthorityError>

    private let count: @Sendable () async throws(AuthorityError) -> StoreTally
    private let clock: @Sendable () -> Duration
    private var held: (tally: StoreTally, begun: Duration, took: Duration)?
    private var counting: Task<Outcome, Never>?

    init(of store: any ServiceStore) {
        let start = ContinuousClock.now
        self.init(
            count: { () async throws(AuthorityError) in try await store.tally() },
            clock: { ContinuousClock.now - start })
    }

    /// `clock` starts at any value and never goes back.
    init(
        count: @escaping @Sendable () async throws(AuthorityError) -> StoreTally,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.count = count
        self.clock = clock
    }

    /// Callers at the same time share one count. If it fails, they all receive the error, and it is
    /// not kept.
    func counted() async throws(AuthorityError) -> Counted {
        let now = clock()
        guard let held else { return try await fresh() }
        let rest = min(held.took * Self.restShare, Self.longestRest)
        let isYoung = now - held.begun - held.took < rest
        if isYoung || held.took > Self.patience {
            if !isYoung { _ = begin() }
            return Counted(tally: held.tally, age: now - held.begun)
        }
        return try await fresh()
    }

    private func fresh() async throws(AuthorityError) -> Counted {
        let tally = try await begin().value.get()
        return Counted(tally: tally, age: clock() - (held?.begun ?? clock()))
    }

    /// The running count, or a new one.
    private func begin() -> Task<Outcome, Never> {
        if let counting { return counting }
        let begun = clock()
        let task = Task {
            let outcome: Outcome
            do throws(AuthorityError) {
                outcome = .success(try await count())
            } catch {
                outcome = .failure(error)
            }
            keep(outcome, begun)
            return outcome
        }
        counting = task
        return task
    }

    private func keep(_ outcome: Outcome, _ begun: Duration) {
        counting = nil
        if case .success(let tally) = outcome { held = (tally, begun, clock() - begun) }
    }
}
