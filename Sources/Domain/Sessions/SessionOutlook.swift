/// When a session ends by itself, and why. Everything that shows or announces an end uses this.
package struct SessionOutlook: Equatable, Sendable {
    package enum Cause: String, Sendable, CaseIterable {
        /// Its `expiresAt`.
        case expiry
        /// The authority's limit from its creation.
        case limit
        /// The authority's limit from its last use. Each use moves the end.
        case idle
        /// On the board: the grace without contact. The session comes back with the next contact.
        case offline
    }

    package let endsAt: Timestamp
    package let cause: Cause
    /// The whole span that ends then: from the creation, or from the last use or contact.
    package let span: Duration

    /// The earliest end. Nil: the session has no known end.
    ///
    /// - Parameters:
    ///   - lastHeard: the last use at the authority, or the board's last contact.
    ///   - limit: the latest end that the authority allows.
    ///   - idle: the longest time after `lastHeard`, as the authority knows it.
    ///   - offline: the longest time after `lastHeard`, as the board knows it.
    package init?(
        of session: Session, lastHeard: Timestamp, limit: Timestamp? = nil, idle: Duration? = nil,
        offline: Duration? = nil
    ) {
        let made = session.createdAt
        let ends: [Self?] = [
            session.expiresAt.map { Self(endsAt: $0, cause: .expiry, span: $0 - made) },
            limit.map { Self(endsAt: $0, cause: .limit, span: $0 - made) },
            idle.map { Self(endsAt: lastHeard + $0, cause: .idle, span: $0) },
            offline.map { Self(endsAt: lastHeard + $0, cause: .offline, span: $0) },
        ]
        guard let first = ends.compactMap(\.self).min(by: { $0.endsAt < $1.endsAt }) else {
            return nil
        }
        self = first
    }

    private init(endsAt: Timestamp, cause: Cause, span: Duration) {
        self.endsAt = endsAt
        self.cause = cause
        self.span = span
    }

    /// The days before its end at which an end is announced.
    package static let warningDays = [1, 7, 30]

    /// Within how many days the session ends, as one of `warningDays`. Nil: it is not time to
    /// announce the end yet. A span of 30 days is not announced 30 days ahead.
    package func warning(at now: Timestamp) -> Int? {
        let left = endsAt - now
        return Self.warningDays.first { days in
            let ahead = Duration.seconds(Int64(days) * 86_400)
            return left <= ahead && span > ahead
        }
    }

    /// How long before its end the end of a span is first announced. Zero: never.
    package static func notice(of span: Duration) -> Duration {
        let days = warningDays.last { span > .seconds(Int64($0) * 86_400) } ?? 0
        return .seconds(Int64(days) * 86_400)
    }
}
