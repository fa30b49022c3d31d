import Sessions
import Wire

/// What made a connection ready for requests.
enum Arrival: Sendable {
    /// The first connection of this process, a later one, or a provisioning over one.
    case first, again, provisioned
}

extension Agent {
    /// A refresh is due when a third of the access token's life is left, or a little later;
    /// within a minute where its key is pinned no longer; never at once after the last. One
    /// that became due while there was no connection is spread over a minute.
    mutating func planRefresh(after arrival: Arrival? = nil, at instant: Instant) {
        // What was begun is repeated, or waits for its turn after a refusal.
        guard let held = records.session, held.pendingRefresh == nil else { return }
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
        requests.heartbeatAt = instant.monotonic + held.heartbeat * (0.9 + 0.2 * randomShare())
    }
}
