import Sessions

/// How often the upstream broker gave this board's place to another client of its id.
///
/// A broker does that to an agent that holds its connection only if somebody else logs in as
/// this board: a second machine with a copy of the state folder. One alone is no proof, because
/// an authority ends connections in this way at a broker that has no command for it.
/// Source: MQTT 5 §3.1.4-3, reason code 0x8E.
struct Takeovers: Sendable {
    /// So many within `window` are the proof.
    static let proof = 3
    static let window = Duration.seconds(3600)

    private var times: [Duration] = []

    mutating func add(at now: Duration) {
        times = times.suffix(Self.proof - 1) + [now]
    }

    /// The authority has the proof.
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

    /// Another client of this board's id was let in, and this one had to go.
    mutating func takenOver(at instant: Instant) {
        uplink.takeovers.add(at: instant.monotonic)
        noteTakeovers(at: instant)
        // Two that take the place from each other must not do so faster and faster: a connection
        // that ended in this way did not last.
        uplink.readyAt = nil
        uplinkLost("MQTT: another client of this board's id was let in", at: instant)
    }

    /// The authority hears this board from two processes in turn. A broker may say
    /// nothing of it, and only end the connections (mosquitto 2.0.11).
    mutating func toldOfAnother(at instant: Instant) {
        uplink.takeovers.prove(at: instant.monotonic)
        noteTakeovers(at: instant)
        bus.healthIsStale = true
    }

    private mutating func noteTakeovers(at instant: Instant) {
        let isProven = uplink.takeovers.areProof(at: instant.monotonic)
        if isProven, !uplink.isShared {
            emit(.log(.error, Self.sharedIdentity + ": end the agent there, then pair this "
                + "board again (postern-agent pair --new)"))
        }
        uplink.isShared = isProven
    }

    /// After an hour without a takeover the other machine is gone.
    mutating func forgetTakeovers(at instant: Instant) {
        guard uplink.isShared, !uplink.takeovers.areProof(at: instant.monotonic) else { return }
        uplink.isShared = false
        bus.healthIsStale = true
    }
}
