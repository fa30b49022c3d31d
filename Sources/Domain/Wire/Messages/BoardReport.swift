package import Gate
package import Sessions

/// The report of a board with each heartbeat: its queue, its refused writes with their rules, and
/// the rules of its policy file.
///
/// Source: the wire contract, The board's report.
package struct BoardReport: Equatable, Sendable {
    /// The messages that wait for the upstream broker.
    package struct Queue: Equatable, Sendable {
        package let messages: Int64
        package let bytes: Int64
        /// The time when the oldest was accepted; nil if none waits.
        package let oldest: Timestamp?
        /// The wait of the oldest, in seconds; nil if none waits or the board did not say.
        package var oldestAge: Int64?
        /// Whole hours until the outbox is full at the present rate. Nil while it does not grow, or
        /// if that takes long.
        package var hoursLeft: Int64?

        /// A longer time is not reported, so that small changes of a rate are no news.
        package static let mostHours: Int64 = 999

        package init(
            messages: Int64, bytes: Int64, oldest: Timestamp?, oldestAge: Int64? = nil,
            hoursLeft: Int64? = nil
        ) {
            self.messages = messages
            self.bytes = bytes
            self.oldest = oldest
            self.oldestAge = oldestAge
            self.hoursLeft = hoursLeft
        }
    }

    /// The board's own rules.
    package enum Rules: Equatable, Sendable {
        /// The board has no policy file.
        case noFile
        case file(PolicyDocument)
        /// The board's policy is too large, or cannot be written as JSON.
        case omitted
    }

    package var queue: Queue
    /// The number of writes refused since the agent's start.
    package var refused: Int64
    /// The refused writes by app and rule, at most 64 entries.
    package var refusals: [RefusalCount]
    /// Nil: unchanged since the last report.
    package var rules: Rules?
    /// The units in the board's policy file. They are known only beside `rules`.
    package var units: DeclaredUnits
    /// Whether another machine uses this board's identity, as the board learns from its broker.
    package var isShared: Bool
    /// The highest sequence number that the upstream broker acknowledged to this process. Nil
    /// before the first one, or if the board did not say.
    package var lastForwarded: Int64?
    /// The id of the agent process, new at each start. Nil: not given.
    package var run: MessageID?
    /// The id of the process before `run`. Set by the authority; a value from a board is not kept.
    package var earlierRun: MessageID?

    package static let refusalLimit = 64

    package init(
        queue: Queue, refused: Int64, refusals: [RefusalCount], rules: Rules? = nil,
        units: DeclaredUnits = .none, isShared: Bool = false, lastForwarded: Int64? = nil,
        run: MessageID? = nil
    ) {
        self.queue = queue
        self.refused = refused
        self.refusals = refusals
        self.rules = rules
        self.units = units
        self.isShared = isShared
        self.lastForwarded = lastForwarded
        self.run = run
    }
}

extension BoardReport.Rules {
    package init(_ policy: Policy?) {
        guard let policy else {
            self = .noFile
            return
        }
        self = PolicyDocument(policy).map(Self.file) ?? .omitted
    }
}

extension BoardReport {
    /// Reads a report. A report with any fault is refused as a whole.
    package init(json: JSONObject) throws(WireError) {
        let queue = try json.object("queue")
        self.init(
            queue: Queue(
                messages: try queue.count("messages"), bytes: try queue.count("bytes"),
                oldest: try queue.optional("oldest") { value in
                    value.asInteger.flatMap(Timestamp.init(seconds:))
                },
                oldestAge: try queue.optionalCount("oldestAge"),
                hoursLeft: try queue.optionalCount("hoursLeft")),
            refused: try json.count("refused"), refusals: try Self.refusals(json),
            rules: try Rules(json: json), units: try Self.units(json),
            isShared: try json.optional("identityShared") { $0.asBool } ?? false,
            lastForwarded: try json.optionalCount("lastForwarded"),
            run: try Self.run("run", json))
        earlierRun = try Self.run("earlierRun", json)
    }

    private static func units(_ json: JSONObject) throws(WireError) -> DeclaredUnits {
        guard let value = json.members["units"] else { return .none }
        guard json.members["policy"] != nil else { throw .mistyped("units") }
        return try DeclaredUnits(json: value)
    }

    private static func run(
        _ member: String, _ json: JSONObject
    ) throws(WireError) -> MessageID? {
        try json.optional(member) { $0.asString.flatMap(MessageID.init) }
    }

    private static func refusals(_ json: JSONObject) throws(WireError) -> [RefusalCount] {
        let values = try json.required("refusals") { $0.asArray }
        guard values.count <= refusalLimit else { throw .mistyped("refusals") }
        var refusals: [RefusalCount] = []
        for value in values {
            guard let members = value.asObject else { throw .mistyped("refusals") }
            let entry = try RefusalCount(json: JSONObject(members))
            guard entry.isWellFormed else { throw .mistyped("refusals") }
            refusals.append(entry)
        }
        return refusals
    }

    /// The members that say the board's rules and units. Nil: they are unchanged.
    package var rulesMembers: [String: JSONValue]? {
        guard var members = rules?.members else { return nil }
        if units != .none { members["units"] = units.json }
        return members
    }

    package var json: JSONValue {
        var members = rulesMembers ?? [:]
        var queue: [String: JSONValue] = [
            "messages": .integer(queue.messages), "bytes": .integer(queue.bytes),
            "oldest": queue.oldest.map(JSONValue.time) ?? .null,
        ]
        queue["oldestAge"] = self.queue.oldestAge.map(JSONValue.integer)
        queue["hoursLeft"] = self.queue.hoursLeft.map(JSONValue.integer)
        members["queue"] = .object(queue)
        members["lastForwarded"] = lastForwarded.map(JSONValue.integer)
        members["refused"] = .integer(refused)
        members["refusals"] = .array(refusals.map(\.json))
        if isShared { members["identityShared"] = .bool(true) }
        members["run"] = run.map { .string($0.description) }
        members["earlierRun"] = earlierRun.map { .string($0.description) }
        return .object(members)
    }
}

extension BoardReport.Rules {
    /// Nil if `policy` is absent: the rules are unchanged.
    fileprivate init?(json: JSONObject) throws(WireError) {
        let isOmitted = try json.optional("policyOmitted") { $0.asBool } ?? false
        switch json.members["policy"] {
        case nil where !isOmitted: return nil
        case nil, .null: self = isOmitted ? .omitted : .noFile
        case .some(let value):
            guard !isOmitted else { throw .mistyped("policyOmitted") }
            self = .file(try PolicyDocument(json: value))
        }
    }

    /// The members of a report for these rules.
    package var members: [String: JSONValue] {
        switch self {
        case .noFile: ["policy": .null]
        case .file(let document): ["policy": document.json]
        case .omitted: ["policy": .null, "policyOmitted": .bool(true)]
        }
    }
}

extension RefusalCount {
    /// Whether an agent may have written this: the app is an app's name or `any`, and the rule fits
    /// a `RuleID`.
    fileprivate var isWellFormed: Bool {
        let mayStand = rule.utf8.allSatisfy { byte in
            (UInt8(ascii: "!")...UInt8(ascii: "~")).contains(byte)
        }
        return (app == Self.any || AppName(app) != nil) && count > 0 && mayStand
            && (1...96).contains(rule.utf8.count)
    }
}

extension JSONObject {
    /// A count: 0 or more.
    func count(_ name: String) throws(WireError) -> Int64 {
        try required(name, Self.count)
    }

    func optionalCount(_ name: String) throws(WireError) -> Int64? {
        try optional(name, Self.count)
    }

    private static func count(_ value: JSONValue) -> Int64? {
        value.asInteger.flatMap { $0 >= 0 ? $0 : nil }
    }
}
