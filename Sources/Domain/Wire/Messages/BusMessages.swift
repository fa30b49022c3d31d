package import Sessions

/// The session as the board's apps see it, retained on `postern/session`.
package struct SessionNotice: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case available(Session, validatedAt: Timestamp)
        case unavailable(UnavailableReason)
    }

    package let state: State
    /// With code 209: whether only a new provisioning helps.
    package let isFinal: Bool?

    package init(_ state: State, isFinal: Bool? = nil) {
        self.state = state
        self.isFinal = isFinal
    }

    package var payload: [UInt8] {
        switch state {
        case .available(let session, let validatedAt):
            JSONValue.object([
                "state": .string("available"), "session": session.json,
                "validatedAt": .time(validatedAt),
            ]).bytes
        case .unavailable(let reason):
            JSONValue.object([
                "state": .string("unavailable"), "reason": .string(reason.rawValue),
                "code": .integer(Int64(reason.code.rawValue)),
            ]).with("final", isFinal.map(JSONValue.bool)).bytes
        }
    }
}

extension JSONValue {
    /// This object with one more member; unchanged if `value` is nil.
    package func with(_ name: String, _ value: JSONValue?) -> JSONValue {
        guard case .object(var members) = self, let value else { return self }
        members[name] = value
        return .object(members)
    }
}

/// The answers to reads on the bus. Each names its kind, whatever custom fields it has.
package enum BusAnswer {
    static let errorKind = "error"

    package static func session(_ session: Session) -> JSONValue {
        session.json.with("kind", .string("session"))
    }

    package static func user(_ user: UserProfile) -> JSONValue {
        user.json.with("kind", .string("user"))
    }

    package static func sessions(_ sessions: [Session]) -> JSONValue {
        .object(["kind": .string("sessions"), "sessions": .array(sessions.map(\.json))])
    }

    /// `isFinal`: with code 209, whether only a new provisioning helps.
    package static func error(_ refusal: Refusal, isFinal: Bool?) -> JSONValue {
        refusal.json.with("kind", .string(errorKind)).with("final", isFinal.map(JSONValue.bool))
    }
}

/// `{"seq":n}`: the write is safe. `durability` in `agent.toml` says what is safe.
package enum AcceptedNotice {
    package static func payload(sequence: Int64) -> [UInt8] {
        Array("{\"seq\":\(sequence)}".utf8)
    }
}

/// The agent's state for monitoring, retained on `postern/health`.
package struct HealthNotice: Equatable, Sendable {
    package var up: Bool
    package var pid: Int64
    package var time: Timestamp
    package var uplink: String
    package var messages: Int64
    package var bytes: Int64
    package var oldest: Timestamp?
    package var hoursLeft: Double?
    package var bytesPerSecondIn = 0.0
    package var bytesPerSecondOut = 0.0
    package var dropped: Int64
    package var refused: Int64
    /// The refused writes by app and rule, since this agent started.
    package var refusals: [RefusalCount]
    package var gaps = AnnouncedGaps.none
    /// The writes of each class that the outbox dropped, for lack of room or for age.
    package var drops: [String: Int64] = [:]
    /// The number of dead letters.
    package var dead: Int64 = 0
    /// Nil if the local broker does not report it.
    package var bus: BusBrokerMetrics?
    /// When the session ends by itself, and why. Nil without a session.
    package var sessionEnds: SessionOutlook?
    /// A part of the board's state is lost until a person repairs it.
    package var isDegraded = false
    /// The most entries in `drops`. The rest is one sum under `*`.
    package static let dropLimit = 64

    package init(up: Bool, pid: Int64, time: Timestamp, uplink: String) {
        self.up = up
        self.pid = pid
        self.time = time
        self.uplink = uplink
        messages = 0
        bytes = 0
        dropped = 0
        refused = 0
        refusals = []
    }

    /// The time that the oldest message has waited for its upstream acknowledgement, in seconds.
    package var oldestAge: Int64? { oldest.map { max(0, (time - $0).components.seconds) } }

    package var payload: [UInt8] { json.bytes }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "status": .string(up ? "up" : "down"), "pid": .integer(pid), "time": .time(time),
            "uplink": .string(uplink),
            "queue": .object([
                "messages": .integer(messages), "bytes": .integer(bytes),
                "oldest": oldest.map(JSONValue.time) ?? .null,
                "oldestAge": oldestAge.map(JSONValue.integer) ?? .null,
                "hoursLeft": hoursLeft.map(JSONValue.number) ?? .null,
                "bytesPerSecondIn": Self.whole(bytesPerSecondIn),
                "bytesPerSecondOut": Self.whole(bytesPerSecondOut),
            ]),
            "dropped": .integer(dropped), "refused": .integer(refused),
            "gaps": .integer(gaps.total), "gapRanges": gaps.json,
            "drops": .object(namedDrops.mapValues(JSONValue.integer)), "dead": .integer(dead),
            "refusals": .array(refusals.map(\.json)),
        ]
        members["bus"] = bus?.json
        members["sessionEnds"] = sessionEnds.map { outlook in
            .object(["at": .time(outlook.endsAt), "cause": .string(outlook.cause.rawValue)])
        }
        if isDegraded { members["degraded"] = .bool(true) }
        return .object(members)
    }

    private static func whole(_ number: Double) -> JSONValue {
        .integer(Int64(min(max(number.rounded(), 0), 1e15)))
    }

    /// The largest drops, at most `dropLimit` entries; equal ones in the order of their names.
    package var namedDrops: [String: Int64] {
        guard drops.count > Self.dropLimit else { return drops }
        let sorted = drops.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }
        let rest = sorted.dropFirst(Self.dropLimit - 1).reduce(0) { $0 &+ $1.value }
        let named = sorted.prefix(Self.dropLimit - 1).map { ($0.key, $0.value) }
        return Dictionary(named + [("*", rest)]) { $0 &+ $1 }
    }
}

/// The local broker's report about its own queue. Each member is nil until it is reported.
package struct BusBrokerMetrics: Equatable, Sendable {
    /// The messages to any client that the broker dropped since its start.
    package var dropped: Int64?
    /// The messages that the broker holds, retained ones included.
    package var stored: Int64?

    package init(dropped: Int64? = nil, stored: Int64? = nil) {
        self.dropped = dropped
        self.stored = stored
    }

    package var json: JSONValue {
        .object([
            "dropped": dropped.map(JSONValue.integer) ?? .null,
            "stored": stored.map(JSONValue.integer) ?? .null,
        ])
    }
}
