package import Sessions
import Wire

/// What made a connection ready for requests.
enum Arrival: Sendable {
    /// The first connection of this process, a later one, or a provisioning over one.
    case first, again, provisioned
}

/// How often a board asks, where it is not as its authority says: a simulated fleet has a pace of
/// its own.
package struct RequestPace: Equatable, Sendable {
    package var heartbeat: Duration?
    package var refresh: Duration?

    package init(heartbeat: Duration? = nil, refresh: Duration? = nil) {
        self.heartbeat = heartbeat
        self.refresh = refresh
    }
}

extension Agent {
    /// Asks at this pace from now on. The next requests are due within one interval, at a moment
    /// drawn at random, so that a fleet does not ask in step.
    package mutating func keep(_ pace: RequestPace, at instant: Instant) {
        self.pace = pace
        guard let held = records.session else { return }
        requests.heartbeatAt = instant.monotonic + heartbeatInterval(of: held) * randomShare()
        if let refresh = pace.refresh, held.pendingRefresh == nil {
            requests.refreshAt = instant.monotonic + refresh * randomShare()
        } else {
            planRefresh(at: instant)
        }
    }

    func heartbeatInterval(of held: HeldSession) -> Duration { pace.heartbeat ?? held.heartbeat }

    /// A refresh is due when a third of the access token's life is left, or a little later;
    /// within a minute where its key is pinned no longer; never at once after the last. One
    /// that became due while there was no connection is spread over a minute.
    mutating func planRefresh(after arrival: Arrival? = nil, at instant: Instant) {
        // What was begun is repeated, or waits for its turn after a refusal.
        guard let held = records.session, held.pendingRefresh == nil else { return }
        if let refresh = pace.refresh {
            let next = instant.monotonic + refresh * (0.9 + 0.2 * randomShare())
            requests.refreshAt = requests.refreshAt ?? next
            return
        }
        let planned = requests.refreshAt
        requests.refreshAt = nil
        guard let trust = records.trust, !clock.isUnset(at: instant) else { return }
        let earliest = requests.refreshNotBefore ?? .zero
        do throws(CryptographyFailure) {
            let claims = try cryptography.verify(
                held.tokens.access, keys: trust.authority.signKeys)
            let life = claims.expiresAt - claims.issuedAt
            // One that brought nothing good has had its spread.
            let spread = requests.badRefreshes == 0 ? life / 30 * randomShare() : .zero
            let due = claims.expiresAt - life / 3 + spread
            var wait = min(due - clock.now(at: instant), .seconds(86_400))
            if wait <= .zero {
                let isAway = arrival == .first || arrival == .again
                wait = isAway ? min(.seconds(60), life) * randomShare() : .zero
                // It was spread at the connect: an answer since is no reason to hurry. What was
                // planned for later than that was planned by a clock that was wrong.
                if !isAway, let planned {
                    wait = min(max(planned - instant.monotonic, .zero), .seconds(60))
                }
            }
            requests.refreshAt = max(instant.monotonic + wait, earliest)
        } catch {
            let soon = instant.monotonic + .seconds(60)
            requests.refreshAt = max(min(planned ?? soon, soon), earliest)
        }
    }

    mutating func planHeartbeat(at instant: Instant) {
        guard let held = records.session else { return }
        requests.heartbeatAt = instant.monotonic
            + heartbeatInterval(of: held) * (0.9 + 0.2 * randomShare())
    }
}
