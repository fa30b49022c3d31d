import Sessions

/// Judges the wall clock, so that nothing is ended for good on the word of a clock that is
/// wrong: against the latest time that was ever believed, which the store keeps, and against a
/// clock that never goes back, which knows how much time has passed since the last look.
///
/// - Behind the latest time by more than a minute: it is wrong, or that time was. Nothing is
///   swept until it has passed it, or an operator starts the service with `--accept-clock`.
/// - Ahead of where it should be by more than five minutes, or, at the start, of the latest
///   time by more than 30 days (the service may have been off): nothing is swept until it has
///   kept its new course for a quarter of an hour, in which whoever sets clocks, or an
///   operator, can put it right.
/// - More than 30 days off in either direction, boards are not heard until then, either: each
///   answer would set their clocks, and end their sessions as expired. They ask again.
struct ClockWatch: Sendable {
    enum Judgement: Equatable, Sendable {
        case believed
        case behind(Duration)
        case ahead(Duration)
    }

    /// How far the clock may be behind the latest time.
    static let slack = Duration.seconds(60)
    /// How far it may leave its course between two looks.
    static let tolerance = Duration.seconds(300)
    /// How long a clock that is ahead must keep its course.
    static let proof = Duration.seconds(900)
    /// How far off nobody is told the time.
    static let absurd = Duration.seconds(30 * 86_400)

    /// The latest time believed.
    private(set) var latest: Timestamp
    /// The look before this one.
    private var last: Look
    /// The last look that was believed; nil if none of this process was.
    private var believed: Look?
    /// Since when a clock that is ahead has kept its course.
    private var aheadSince: Duration?

    private struct Look {
        let wall: Timestamp
        let monotonic: Duration

        func drift(to other: Look) -> Duration {
            (other.wall - wall) - (other.monotonic - monotonic)
        }
    }

    /// Begins with the latest time that the store knows; nil believes the first look.
    init(latest: Timestamp?, wall: Timestamp, monotonic: Duration) {
        self.latest = latest ?? wall
        last = Look(wall: wall, monotonic: monotonic)
    }

    /// To be called every few seconds, and once before anything is done.
    mutating func look(wall: Timestamp, monotonic: Duration) -> Judgement {
        let now = Look(wall: wall, monotonic: monotonic)
        let isOnCourse = abs(last.drift(to: now)) <= Self.tolerance
        last = now
        let behind = latest - wall
        if behind > Self.slack {
            aheadSince = nil
            return .behind(behind)
        }
        let lead = believed.map { $0.drift(to: now) } ?? (wall - latest)
        guard lead > (believed == nil ? Self.absurd : Self.tolerance) else {
            return believe(now)
        }
        let since = isOnCourse ? aheadSince ?? monotonic : monotonic
        guard monotonic - since < Self.proof else { return believe(now) }
        aheadSince = since
        return .ahead(lead)
    }

    private mutating func believe(_ look: Look) -> Judgement {
        believed = look
        aheadSince = nil
        latest = max(latest, look.wall)
        return .believed
    }

    private func abs(_ span: Duration) -> Duration { span < .zero ? .zero - span : span }
}

extension ClockWatch.Judgement {
    /// Whether what is over may be ended for good.
    var maySweep: Bool { self == .believed }

    /// Whether boards may be told the time, and that their sessions are over. By a clock that
    /// is ahead they would be, for good; a board that hears nothing asks again.
    var mayAnswer: Bool {
        switch self {
        case .believed: true
        case .behind(let span): span <= ClockWatch.absurd
        case .ahead: false
        }
    }

    /// What an operator must know; nil if all is well.
    var words: String? {
        switch self {
        case .believed:
            return nil
        case .behind(let span):
            return "the clock is \(span.components.seconds) s behind the latest time on record; "
                + "\(consequence) until it has passed that time. "
                + "If it is right, start with --accept-clock"
        case .ahead(let span):
            return "the clock is ahead by \(span.components.seconds) s; \(consequence) for the "
                + "next \(ClockWatch.proof.components.seconds / 60) minutes. "
                + "If it is wrong, set it now; if it is right, start with --accept-clock"
        }
    }

    private var consequence: String {
        mayAnswer ? "nothing is swept" : "nothing is swept and no board is answered"
    }
}
