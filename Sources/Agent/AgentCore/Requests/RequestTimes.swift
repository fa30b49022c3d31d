package import Sessions
import Wire

/// Why requests start now.
enum RequestStart: Sendable {
    /// The first connection of this process, a later one, or a provisioning over a connection.
    case first, again, provisioned
}

/// Request intervals that replace the authority's. A simulated fleet uses its own.
package struct RequestPace: Equatable, Sendable {
    package var heartbeat: Duration?
    package var refresh: Duration?

    package init(heartbeat: Duration? = nil, refresh: Duration? = nil) {
        self.heartbeat = heartbeat
        self.refresh = refresh
    }
}

extension Agent {
    /// Uses this pace from now on. The next requests are due within one interval at a random
    /// moment, so that a fleet does not send them at once.
    package mutating func keep(_ pace: RequestPace, at instant: Instant) {
        requests.keep(pace)
        guard let held = records.session else { return }
        requests.setHeartbeat(
            due: instant.monotonic + heartbeatInterval(of: held) * randomShare())
        if let refresh = pace.refresh, held.pendingRefresh == nil {
            requests.setRefresh(due: instant.monotonic + refresh * randomShare())
        } else {
            planRefresh(at: instant)
        }
    }

    func heartbeatInterval(of held: HeldSession) -> Duration {
        requests.pace.heartbeat ?? held.heartbeat
    }

    /// Plans the next refresh. It is due when a third of the access token's life is left, or a
    /// little later. If the token's key is no longer pinned, it is due within a minute. It never
    /// follows the last refresh at once. A refresh that became due without a connection is
    /// delayed at random by up to a minute.
    mutating func planRefresh(after arrival: RequestStart? = nil, at instant: Instant) {
        // An open refresh is repeated, or waits after a refusal.
        guard let held = records.session, held.pendingRefresh == nil else { return }
        if let refresh = requests.pace.refresh {
            let next = instant.monotonic + refresh * (0.9 + 0.2 * randomShare())
            requests.setRefresh(due: requests.refreshAt ?? next)
            return
        }
        let planned = requests.refreshAt
        requests.setRefresh(due: nil)
        guard let trust = records.trust, !clock.isUnset(at: instant) else { return }
        let earliest = requests.tokens.refreshNotBefore ?? .zero
        do throws(CryptographyFailure) {
            let claims = try cryptography.verify(
                held.tokens.access, keys: trust.authority.signKeys)
            let life = claims.expiresAt - claims.issuedAt
            // After a refresh without a valid token no further random delay is needed.
            let spread = requests.tokens.badRefreshes == 0 ? life / 30 * randomShare() : .zero
            let due = claims.expiresAt - life / 3 + spread
            var wait = min(due - clock.now(at: instant), .seconds(86_400))
            if wait <= .zero {
                let isAway = arrival == .first || arrival == .again
                wait = isAway ? min(.seconds(60), life) * randomShare() : .zero
                // The connect has already delayed this refresh at random, so an answer does not
                // shorten the delay. If the plan is later than that, a wrong clock made it.
                if !isAway, let planned {
                    wait = min(max(planned - instant.monotonic, .zero), .seconds(60))
                }
            }
            requests.setRefresh(due: max(instant.monotonic + wait, earliest))
        } catch {
            let soon = instant.monotonic + .seconds(60)
            requests.setRefresh(due: max(min(planned ?? soon, soon), earliest))
        }
    }

    /// The next heartbeat is due after the interval ± 10 %.
    mutating func planNextHeartbeat(from instant: Instant) {
        guard let held = records.session else { return }
        let wait = heartbeatInterval(of: held) * (0.9 + 0.2 * randomShare())
        requests.setHeartbeat(due: instant.monotonic + wait)
    }
}
