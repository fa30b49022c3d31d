import AuthorityBroker
import AuthorityCore
import AuthorityStore
import LinuxIO
import Logging
import Sessions
import Synchronization

/// Judges the clock for the service every few seconds. It keeps the latest believed time in the
/// store, and writes each change to the log and the audit log.
final class ClockGuard: Sendable {
    private let store: any ServiceStore
    private let authority: Authority
    private let logger: Logger
    private let state: Mutex<State>
    /// The store is updated after the clock has moved this far.
    private static let stride = Duration.seconds(60)

    private struct State {
        var watch: ClockWatch
        var judgement = ClockWatch.Judgement.believed
        /// The judgement that was logged last.
        var told: ClockWatch.Judgement
        /// The latest time that this process wrote to the store; nil if it wrote none.
        var known: Timestamp?
        /// The store's history at that write.
        var history: String?

        mutating func judge() {
            judgement = watch.look(wall: systemClock(), monotonic: SystemClock.monotonic)
        }
    }

    /// Judges the clock for the first time, and logs the result unless the clock is believed.
    /// `acceptsClock`: the current time replaces the latest time in the store.
    init(
        store: any ServiceStore, authority: Authority, acceptsClock: Bool, logger: Logger
    ) async throws(AuthorityError) {
        self.store = store
        self.authority = authority
        self.logger = logger
        if acceptsClock {
            try await authority.noteGap(
                until: systemClock(), known: nil, isAlone: !store.isShared)
            try await store.resetLatestTime(to: systemClock())
        }
        let latest = try await store.latestTime()
        let watch = ClockWatch(
            latest: latest, wall: systemClock(), monotonic: SystemClock.monotonic)
        state = Mutex(State(watch: watch, told: .believed))
        try await look()
    }

    /// Whether boards may receive the time now. Each answer judges the clock again, so a clock that
    /// jumps between two looks reaches no board.
    var mayAnswer: Bool {
        state.withLock { state in
            state.judge()
            return state.judgement.mayAnswer
        }
    }

    /// Whether records may end now because their time has passed.
    var maySweep: Bool {
        state.withLock { state in
            state.judge()
            return state.judgement.maySweep
        }
    }

    /// Judges the clock, and logs a changed judgement. Returns the judgement that was logged last
    /// and the new one.
    @discardableResult
    func look() async throws(AuthorityError) -> Change {
        let (change, latest) = state.withLock { state in
            state.judge()
            let change = Change(before: state.told, now: state.judgement)
            state.told = state.judgement
            return (change, state.judgement == .believed ? state.watch.latest : nil)
        }
        if change.isNews { try await tell(change.now) }
        if let latest { try await note(latest) }
        return change
    }

    /// Checks whether another database has taken over. A changed judgement of the clock is logged
    /// by the next `look`.
    func follow() async throws(AuthorityError) {
        let latest = state.withLock { state in
            state.judge()
            return state.judgement == .believed ? state.watch.latest : nil
        }
        if let latest { try await note(latest) }
    }

    /// Writes a believed time to the store, once per `stride`, and at once if another database has
    /// taken over. Data that the other database lacks is recorded as a gap.
    private func note(_ latest: Timestamp) async throws(AuthorityError) {
        let history = try await store.history()
        let (stored, isOther) = state.withLock { state in
            (state.known, history != nil && state.history != nil && history != state.history)
        }
        guard isOther || stored.map({ latest - $0 >= Self.stride }) ?? true else { return }
        if isOther {
            logger.warning("""
                another database has taken over; a board whose session it lacks keeps the \
                session and gets "not issued here"
                """)
        }
        try await authority.noteGap(
            until: latest, known: stored, isOtherHistory: isOther, isAlone: !store.isShared)
        try await store.raiseLatestTime(to: latest)
        // If a database took over in between, the next look handles it from the same state.
        guard try await store.history() == history else { return }
        state.withLock { state in
            state.known = latest
            state.history = history ?? state.history
        }
    }

    private func tell(_ judgement: ClockWatch.Judgement) async throws(AuthorityError) {
        let words = judgement.words ?? "the clock is trusted again"
        logger.log(level: judgement == .believed ? .notice : .critical, "\(words)")
        try await authority.alarm("clock", words)
    }

    struct Change: Sendable {
        let before: ClockWatch.Judgement
        let now: ClockWatch.Judgement

        /// Whether the kind of judgement changed. A clock that stays wrong is no news.
        var isNews: Bool {
            switch (before, now) {
            case (.believed, .believed), (.behind, .behind), (.ahead, .ahead):
                before.mayAnswer != now.mayAnswer
            default: true
            }
        }
    }
}
