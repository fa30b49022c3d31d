import Sessions
import Wire

// A fleet that lost its broker or its authority lost it at one moment, and every board of it
// wants the same things next. Each waits for a moment of its own first, drawn uniformly from
// `spread`. A wait that ends in a failure is followed by another draw: whatever common moment
// ended the tries, the next ones do not begin together. Adding a draw to a wait never makes
// the whole denser than the draw, so what follows one another stays spread as well.

extension Agent {
    /// The board's own setting, what its authority said last, or what suits any fleet.
    var spread: Duration {
        settings.spread ?? records.trust?.spread ?? FleetSpread.widest
    }

    /// How long the next try to connect waits for the sake of others.
    ///
    /// The first try of a process waits, too: power that comes back to a district starts a
    /// fleet at one moment. Only what touches the upstream broker waits: the session is
    /// restored and told on the board's own bus before.
    func spreadWait(at instant: Instant) -> Duration {
        isInStep(at: instant) ? spread * randomShare() : .zero
    }

    /// What a try that failed adds at least: half a spread, so that while a broker stays away
    /// each board tries about once in a spread.
    func pauseAfterFailure(at instant: Instant) -> Duration {
        isInStep(at: instant) ? min(spread, FleetSpread.widest) / 2 : .zero
    }

    /// Whether others may do the same at this moment. A board without a session is no part of
    /// a fleet, and one that is being claimed has somebody at its side: its authority may end
    /// the connection to set a password.
    private func isInStep(at instant: Instant) -> Bool {
        guard records.session != nil else { return false }
        guard let since = uplink.provisionedAt else { return true }
        return instant.monotonic - since >= .seconds(120)
    }

    /// From 0 to 1 in steps of 2^-32; a failing library makes it 0. One byte would not do: its
    /// 256 steps are half a second apart, and a large fleet would come in steps.
    func randomShare() -> Double {
        let bytes = (try? cryptography.random(4)) ?? []
        return Double(bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }) / Double(UInt32.max)
    }

    /// Remembers a request that is being sent: it is repeated after 10 s and a draw, then
    /// after a back-off and a draw. See `Requests.add`.
    mutating func remember(
        _ id: MessageID, _ kind: Requests.Kind, isNew: Bool, at instant: Instant
    ) {
        let backoff = Backoff(
            first: max(.seconds(20), min(spread, FleetSpread.widest) / 2), limit: .seconds(300))
        requests.add(
            id, kind, isNew: isNew, wait: .seconds(10) + spread * randomShare(),
            backoff: backoff, at: instant.monotonic)
    }

    /// The authority is overloaded, and has done nothing. The request stays and is made again
    /// under its id, so that a refresh that was acted on before is answered as it was; what is
    /// left of the session's time is as before, for nothing was validated. A list is left out:
    /// who reads gets what there is.
    mutating func putOff(
        _ request: Requests.Pending, after refusal: Refusal, at instant: Instant
    ) {
        if request.kind == .list {
            requests.finish(request.id)
            requests.listedAt = instant.monotonic
            return readersGetWhatThereIs(at: instant)
        }
        let told = refusal.retryAfter ?? .seconds(30)
        let wait = told + max(told, spread) * randomShare()
        requests.putOff(request.id, until: instant.monotonic + wait)
        uplink.isAuthorityBusy = true
        bus.healthIsStale = true
        emit(.log(.warning, "the authority is overloaded (\(refusal.code)): a \(request.kind) "
            + "is asked again in \(wait.components.seconds) s; the session stays"))
        if let awaited = request.kind.awaited {
            failed([awaited], .refused(refusal), at: instant)
        }
    }
}
