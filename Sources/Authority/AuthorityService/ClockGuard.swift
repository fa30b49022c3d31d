import AuthorityCore
import AuthorityStore
import LinuxIO
import Logging
import Sessions
import Synchronization

/// The judgement that the service acts on: made every few seconds, its ground kept in the
/// store, and each change of it said in the log and in the audit log.
final class ClockGuard: Sendable {
    private let store: any ServiceStore
    private let authority: Authority
    private let logger: Logger
    private let state: Mutex<State>
    /// How far the clock goes before the store is told.
    private static let stride = Duration.seconds(60)

    private struct State {
        var watch: ClockWatch
        var judgement = ClockWatch.Judgement.believed
        /// The judgement that was said last.
        var told: ClockWatch.Judgement
        /// What the store was told; nil until this process has told it anything.
        var known: Timestamp?
        /// The store's history when it was told.
        var history: String?

        mutating func judge() {
            judgement = watch.look(wall: systemClock(), monotonic: SystemClock.monotonic)
        }
    }

    /// Judges the clock for the first time, and says what came of it unless all is well.
    /// `acceptsClock`: the latest time on record is what the clock says now.
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

    /// Whether boards may be told the time now: each answer asks, so that a clock set by years
    /// between two looks reaches none of them.
    var mayAnswer: Bool {
        state.withLock { state in
            state.judge()
            return state.judgement.mayAnswer
        }
    }

    /// Judges the clock, and says so where that has changed. Returns the judgement said last
    /// and this one.
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

    /// Looks whether another database has taken over. What there is to say of the clock, the
    /// next look says.
    func follow() async throws(AuthorityError) {
        let latest = state.withLock { state in
            state.judge()
            return state.judgement == .believed ? state.watch.latest : nil
        }
        if let latest { try await note(latest) }
    }

    /// Tells the store of a time that is believed, at each stride, and at once where another
    /// database has taken over: what that one lacks is a gap.
    private func note(_ latest: Timestamp) async throws(AuthorityError) {
        let history = try await store.history()
        let (stored, isOther) = state.withLock { state in
            (state.known, history != nil && state.history != nil && history != state.history)
        }
        guard isOther || stored.map({ latest - $0 >= Self.stride }) ?? true else { return }
        if isOther {
            logger.warning("""
                another database has taken over; boards that bear what it lacks are told so, \
                and kept
                """)
        }
        try await authority.noteGap(
            until: latest, known: stored, isOtherHistory: isOther, isAlone: !store.isShared)
        try await store.raiseLatestTime(to: latest)
        // One that took over in between is met at the next look, which begins where this did.
        guard try await store.history() == history else { return }
        state.withLock { state in
            state.known = latest
            state.history = history ?? state.history
        }
    }

    private func tell(_ judgement: ClockWatch.Judgement) async throws(AuthorityError) {
        let words = judgement.words ?? "the clock is believed again"
        logger.log(level: judgement == .believed ? .notice : .critical, "\(words)")
        try await authority.alarm("clock", words)
    }

    struct Change: Sendable {
        let before: ClockWatch.Judgement
        let now: ClockWatch.Judgement

        /// Whether it is another kind of judgement: that a wrong clock goes on is none.
        var isNews: Bool {
            switch (before, now) {
            case (.believed, .believed), (.behind, .behind), (.ahead, .ahead):
                before.mayAnswer != now.mayAnswer
            default: true
            }
        }
    }
}
