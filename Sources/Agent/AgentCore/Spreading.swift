import Sessions
import Wire

// A fleet loses its broker or its authority at one moment, and then all boards want the same
// things. Each board first waits for a random part of `spread`. A wait that ends in a failure is
// followed by another random wait, so that the next tries do not begin together. Later requests
// stay spread as well, because an added random wait never increases the peak load.

extension Agent {
    /// The board's own setting, else the authority's last value, else the widest spread.
    var spread: Duration {
        settings.spread ?? records.trust?.spread ?? FleetSpread.widest
    }

    /// The random delay before the next try to connect.
    ///
    /// The first try of a process waits, too, because a whole district may get its power back at
    /// one moment. Only uplink traffic waits. The session is restored and published on the
    /// board's own bus before.
    func spreadWait(at instant: Instant) -> Duration {
        isInStep(at: instant) ? spread * randomShare() : .zero
    }

    /// The minimum pause after a failed try: half a spread. So each board tries about once in a
    /// spread while the broker is away.
    func pauseAfterFailure(at instant: Instant) -> Duration {
        isInStep(at: instant) ? min(spread, FleetSpread.widest) / 2 : .zero
    }

    /// Whether other boards may do the same at this moment. False for a board without a session,
    /// because it is not part of a fleet.
    private func isInStep(at instant: Instant) -> Bool {
        records.session != nil && !isJustProvisioned(at: instant)
    }

    /// Whether a provisioning came in the last 120 s. A person waits at the board then, and the
    /// authority may end the connection to set a password.
    func isJustProvisioned(at instant: Instant) -> Bool {
        uplink.provisionedAt.map { instant.monotonic - $0 < .seconds(120) } ?? false
    }

    /// A random number from 0 to 1 in steps of 2^-32; 0 if the library fails. One byte is too
    /// coarse: its 256 steps are half a second apart, and a large fleet would arrive in steps.
    func randomShare() -> Double {
        let bytes = (try? cryptography.random(4)) ?? []
        return Double(bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }) / Double(UInt32.max)
    }

    /// Remembers a request that is being sent. The first repeat comes after 10 s plus a random
    /// delay. Later repeats come after a backoff plus a random delay. See `Requests.add`.
    mutating func remember(
        _ id: MessageID, _ kind: Requests.Kind, isNew: Bool, at instant: Instant
    ) {
        let backoff = Backoff(
            first: max(.seconds(20), min(spread, FleetSpread.widest) / 2), limit: .seconds(300))
        requests.add(
            id, kind, isNew: isNew, wait: .seconds(10) + spread * randomShare(),
            backoff: backoff, at: instant.monotonic)
    }

    /// Delays a request that an overloaded authority refused. The authority has not acted on it.
    ///
    /// The request keeps its id, so that a refresh that already took effect gets the same answer.
    /// The session's offline grace does not change, because nothing was validated. A session list
    /// is not repeated: its readers receive the cached sessions.
    mutating func putOff(
        _ request: Requests.Pending, after refusal: Refusal, at instant: Instant
    ) {
        if request.kind == .list {
            requests.finish(request.id)
            requests.listed(at: instant.monotonic)
            return readersGetWhatThereIs(at: instant)
        }
        let told = refusal.retryAfter ?? .seconds(30)
        let wait = told + max(told, spread) * randomShare()
        requests.putOff(request.id, until: instant.monotonic + wait)
        uplink.authorityAnswered(isBusy: true)
        bus.health.changed()
        emit(.log(.warning, "the authority is overloaded (\(refusal.code)): a \(request.kind) "
            + "is sent again in \(wait.components.seconds) s; the session is kept"))
        if let awaited = request.kind.awaited {
            failed([awaited], .refused(refusal), at: instant)
        }
    }
}
