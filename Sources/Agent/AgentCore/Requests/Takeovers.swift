import Sessions

/// Counts how often another client with this board's id has replaced its connection.
///
/// The broker does so only if somebody else logs in as this board, from a machine with a copy of
/// the state folder. One takeover is no proof: an authority ends connections in this way if its
/// broker has no command for it. Source: MQTT 5 §3.1.4-3, reason code 0x8E.
struct Takeovers: Sendable {
    /// This many takeovers within `window` are the proof.
    static let proof = 3
    static let window = Duration.seconds(3600)

    private var times: [Duration] = []

    mutating func add(at now: Duration) {
        times = times.suffix(Self.proof - 1) + [now]
    }

    /// Records that the authority has proof of a second machine.
    mutating func prove(at now: Duration) {
        times = Array(repeating: now, count: Self.proof)
    }

    func areProof(at now: Duration) -> Bool {
        guard times.count == Self.proof, let first = times.first else { return false }
        return now - first < Self.window
    }
}

extension Agent {
    static let sharedIdentity = "another machine uses this board's identity"

    /// Handles a takeover: another client with this board's id connected, and the broker ended
    /// this connection.
    mutating func takenOver(at instant: Instant) {
        if uplink.takenOver(at: instant.monotonic) { saySharedIdentity() }
        uplinkLost("MQTT: another client with this board's id connected", at: instant)
    }

    /// The authority receives messages of this board from two processes in turn. Some brokers
    /// only end the connections and give no reason (mosquitto 2.0.11).
    mutating func toldOfAnother(at instant: Instant) {
        if uplink.provedShared(at: instant.monotonic) { saySharedIdentity() }
        bus.health.changed()
    }

    private mutating func saySharedIdentity() {
        emit(.log(.error, Self.sharedIdentity + ": stop the agent there, then pair this "
            + "board again (postern-agent pair --new)"))
    }

    mutating func forgetTakeovers(at instant: Instant) {
        if uplink.forgetTakeovers(at: instant.monotonic) { bus.health.changed() }
    }
}
