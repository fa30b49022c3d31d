package import Sessions

/// Judges the wall clock, so that a wrong clock ends nothing for good. It compares the clock with
/// the latest believed time, which the store keeps. It also compares it with a monotonic clock,
/// which measures the time since the last look.
///
/// - More than a minute behind the latest time: the clock or the latest time is wrong. Nothing is
///   swept until the clock has reached the latest time, or an operator starts the service with
///   `--accept-clock`. More than 30 days behind, boards receive no answer either.
/// - More than five minutes ahead of its course: nothing is swept, and boards receive no answer.
///   This ends when the clock has kept its new course for 15 minutes. In this time an operator or a
///   time service can correct it.
/// - At the start the clock may be up to 30 days ahead of the latest time, because the service may
///   have been off.
///
/// A wrong answer would set a board's clock and end its session as expired. A board without an
/// answer asks again.
package struct ClockWatch: Sendable {
    package enum Judgement: Equatable, Sendable {
        case believed
        case behind(Duration)
        case ahead(Duration)
    }

    /// The clock may be this far behind the latest time.
    static let slack = Duration.seconds(60)
    /// The clock may drift this far between two looks.
    static let tolerance = Duration.seconds(300)
    /// A clock that is ahead must keep its course for this long.
    static let proof = Duration.seconds(900)
    /// A clock that is at most this far behind may still answer boards. At the start the clock may
    /// be this far ahead.
    package static let absurd = Duration.seconds(30 * 86_400)

    /// The latest believed time.
    private(set) var latest: Timestamp
    /// The previous look.
    private var last: Look
    /// The last look that was believed; nil if this process has believed none.
    private var believed: Look?
    /// The monotonic time since which a clock that is ahead has kept its course.
    private var aheadSince: Duration?

    private struct Look {
        let wall: Timestamp
        let monotonic: Duration

        func drift(to other: Look) -> Duration {
            (other.wall - wall) - (other.monotonic - monotonic)
        }
    }

    /// Starts from the latest time in the store. If it is nil, the first look is believed.
    package init(latest: Timestamp?, wall: Timestamp, monotonic: Duration) {
        self.latest = latest ?? wall
        last = Look(wall: wall, monotonic: monotonic)
    }

    /// Judges the clock. Call it every few seconds, and once before any other work.
    package mutating func look(wall: Timestamp, monotonic: Duration) -> Judgement {
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
    /// Whether expired sessions and claims may be ended, and old records deleted, for good.
    var maySweep: Bool { self == .believed }

    /// Whether boards may receive the time and the end of their sessions. A clock that is ahead
    /// would end sessions for good. A board that receives no answer asks again.
    var mayAnswer: Bool {
        switch self {
        case .believed: true
        case .behind(let span): span <= ClockWatch.absurd
        case .ahead: false
        }
    }

    /// The message for the operator; nil if the clock is believed.
    package var words: String? {
        switch self {
        case .believed:
            return nil
        case .behind(let span):
            return "the clock is \(span.components.seconds) s behind the latest time on record; "
                + "\(consequence) until it is past that time. "
                + "If it is right, start with --accept-clock"
        case .ahead(let span):
            return "the clock is ahead by \(span.components.seconds) s; \(consequence) for the "
                + "next \(ClockWatch.proof.components.seconds / 60) minutes. "
                + "If it is wrong, set it now; if it is right, start with --accept-clock"
        }
    }

    private var consequence: String {
        mayAnswer ? "no expired record is deleted"
            : "no expired record is deleted and no board gets an answer"
    }
}
