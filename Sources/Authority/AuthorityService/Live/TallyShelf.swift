import AuthorityCore
import AuthorityStore

/// The latest count of what is in the store, made anew when it is old.
///
/// A count walks through tables. However many ask and however much is stored, a fiftieth of the
/// time is spent on it at the most: one that took 1 ms is as good as new, one that took a second
/// is kept for 50. None is kept for more than five minutes, however long the store was in trouble
/// while it was made.
actor TallyShelf {
    struct Counted: Equatable, Sendable {
        var tally: StoreTally
        /// Since it was begun.
        var age: Duration
    }

    /// How many times as long as it took to make a count is kept.
    static let restShare = 50
    static let longestRest = Duration.seconds(300)
    /// One that takes longer is made anew behind whoever asks, who is given the one before.
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

    /// `clock` counts from any beginning and never goes back.
    init(
        count: @escaping @Sendable () async throws(AuthorityError) -> StoreTally,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.count = count
        self.clock = clock
    }

    /// Many who ask at once wait for one count. One that fails fails them, and is not kept.
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

    /// The count that is under way, or a new one.
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
