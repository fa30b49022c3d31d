package import Sessions

/// A board's state for upstream consumers, retained on its `status` topic.
package struct BoardStatus: Equatable, Sendable {
    package var up: Bool
    package var available: Bool
    package var version: String
    package var since: Timestamp
    /// The gaps in `seq` that this board announces.
    package var gaps: AnnouncedGaps
    /// The number of messages that wait on the board. Nil if not given, as in a last will, which
    /// was written when the board connected.
    package var queue: Int64?
    /// The number of writes refused since the agent's start; nil as above.
    package var refused: Int64?

    package init(
        up: Bool, available: Bool, version: String, since: Timestamp,
        gaps: AnnouncedGaps = .none, queue: Int64? = nil, refused: Int64? = nil
    ) {
        self.up = up
        self.available = available
        self.version = version
        self.since = since
        self.gaps = gaps
        self.queue = queue
        self.refused = refused
    }

    package init(parsing payload: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: payload, limit: 65_536)
        let status = try json.string("status")
        let session = try json.string("session")
        guard ["up", "down"].contains(status) else { throw .mistyped("status") }
        guard ["available", "unavailable"].contains(session) else { throw .mistyped("session") }
        up = status == "up"
        available = session == "available"
        // Pages and logs show the version, and some databases do not accept control characters.
        let version = try json.string("version")
        guard !version.hasControlCharacters else { throw .mistyped("version") }
        self.version = String(version.prefix(64))
        since = try json.time("since")
        gaps = try AnnouncedGaps(json: json)
        queue = try json.optional("queue", Self.count)
        refused = try json.optional("refused", Self.count)
    }

    private static func count(_ value: JSONValue) -> Int64? {
        value.asInteger.flatMap { $0 >= 0 ? $0 : nil }
    }

    package var payload: [UInt8] {
        var members: [String: JSONValue] = [
            "status": .string(up ? "up" : "down"),
            "session": .string(available ? "available" : "unavailable"),
            "version": .string(version), "since": .time(since), "gaps": .integer(gaps.total),
            "gapRanges": gaps.json,
        ]
        members["queue"] = queue.map(JSONValue.integer)
        members["refused"] = refused.map(JSONValue.integer)
        return JSONValue.object(members).bytes
    }
}
