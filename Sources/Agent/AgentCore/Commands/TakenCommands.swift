package import Gate
package import Sessions
package import Wire

/// A command whose id this board keeps, so that it never takes it again.
package struct TakenCommand: Equatable, Sendable {
    package let id: MessageID
    package let session: ObjectID
    package let app: AppName?
    package let deadline: Timestamp
    /// Nil: it waits for a subscriber. After a restart nobody knows whether the app has it.
    package var result: CommandResult.State?
    /// The first 16 bytes of the answer's SHA-256. Nil: there is no answer.
    package var answerDigest: [UInt8]?
    /// Whether the authority has the final result.
    package var isConfirmed = false

    package init(
        id: MessageID, session: ObjectID, app: AppName?, deadline: Timestamp,
        result: CommandResult.State? = nil
    ) {
        self.id = id
        self.session = session
        self.app = app
        self.deadline = deadline
        self.result = result
    }

    /// Whether an answer or the deadline may still change it.
    var isOpen: Bool {
        switch result {
        case nil: true
        case .delivered: answerDigest == nil
        case .answered, .refused, .expired: false
        }
    }

    /// Whether the authority must get a final result.
    var isUnconfirmed: Bool {
        switch result {
        case .answered, .refused, .expired: !isConfirmed
        case .delivered, nil: false
        }
    }
}

/// The commands that this board took under its session.
///
/// Source: the wire contract, What the board does with a command.
package struct TakenCommands: Equatable, Sendable {
    package static let limit = 64
    /// The most answers whose text is kept until the authority has them.
    static let answerLimit = 16
    /// How long an id is kept after its deadline.
    private static let margin = Duration.seconds(600)
    /// How far a deadline may be ahead: the longest wait, and how far clocks may differ.
    static let furthest = BoardCommand.longestWait + .seconds(300)

    package private(set) var all: [TakenCommand] = []
    /// The latest deadline of all ids that were forgotten. A command with this deadline or an
    /// earlier one is expired, whatever the clock says.
    package private(set) var floor = Timestamp(milliseconds: 0)

    package init() {}

    /// A memory that was lost at this time: any command until then may have been taken.
    package init(lostAt time: Timestamp) { floor = time + Self.furthest }

    package var isEmpty: Bool { self == TakenCommands() }

    func find(_ id: MessageID) -> TakenCommand? { all.first { $0.id == id } }

    var isFull: Bool { all.count >= Self.limit }

    mutating func change(_ id: MessageID, _ body: (inout TakenCommand) -> Void) {
        for index in all.indices where all[index].id == id { body(&all[index]) }
    }

    /// Takes no command any more whose deadline is this one or an earlier one.
    mutating func raiseFloor(to deadline: Timestamp) { floor = max(floor, deadline) }

    /// Forgets ids that are old, and all whose deadlines have passed if there is no room.
    /// Returns whether there is room for one more.
    mutating func makeRoom(at now: Timestamp) -> Bool {
        forget { $0.deadline + Self.margin <= now }
        if all.count >= Self.limit { forget { $0.deadline <= now && !$0.isUnconfirmed } }
        if all.count >= Self.limit { forget { $0.deadline <= now } }
        return all.count < Self.limit
    }

    private mutating func forget(_ isOver: (TakenCommand) -> Bool) {
        for command in all where isOver(command) { raiseFloor(to: command.deadline) }
        all.removeAll(where: isOver)
    }

    mutating func add(_ command: TakenCommand) { all.append(command) }

    /// A start finds a command that waited: nobody knows whether its app has it.
    mutating func started() {
        for index in all.indices where all[index].result == nil {
            all[index].result = .delivered(isUncertain: true)
        }
    }

    /// Gives up the id. Only for a command that nobody can have got.
    mutating func giveBack(_ id: MessageID) { all.removeAll { $0.id == id } }

    /// Keeps an answer. If too many wait for the authority, the oldest loses its text.
    mutating func keep(_ answer: JSONValue, _ digest: [UInt8], of id: MessageID) {
        change(id) { command in
            command.result = .answered(answer)
            command.answerDigest = digest
        }
        let kept = all.filter { if case .answered = $0.result { true } else { false } }
        guard kept.count > Self.answerLimit,
            let oldest = kept.first(where: { $0.id != id })
        else { return }
        change(oldest.id) { $0.result = .delivered(isUncertain: false) }
    }

    /// Records that the authority has the final result. The answer's text is not needed any more.
    mutating func confirm(_ id: MessageID) {
        change(id) { command in
            command.isConfirmed = true
            if case .answered = command.result { command.result = .delivered(isUncertain: false) }
        }
    }
}

extension TakenCommands {
    package init(json: JSONObject) throws(WireError) {
        floor = try json.time("floor")
        for value in try json.required("taken", { $0.asArray }) {
            guard let members = value.asObject else { throw .mistyped("taken") }
            all.append(try TakenCommand(json: JSONObject(members)))
        }
    }

    package var json: JSONValue {
        .object(["floor": .time(floor), "taken": .array(all.map(\.json))])
    }
}

extension TakenCommand {
    fileprivate init(json: JSONObject) throws(WireError) {
        self.init(
            id: try json.parsed("id", MessageID.init),
            session: try json.parsed("session", ObjectID.init),
            app: try json.optional("app") { value in value.asString.flatMap { AppName($0) } },
            deadline: try json.time("deadline"),
            result: try json.optional("result") { value throws(WireError) in
                guard let text = value.asString else { return nil }
                return try CommandResult(json: JSONObject(parsing: Array(text.utf8))).state
            })
        answerDigest = try json.optional("digest") { value in
            value.asString.flatMap { Base64URL.decode($0) }
        }
        isConfirmed = json.members["confirmed"] == .bool(true)
    }

    /// The result is a text inside this object, because an answer may have many levels.
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(id.description), "session": .string(session.description),
            "deadline": .time(deadline),
        ]
        members["app"] = app.map { .string($0.description) }
        members["result"] = result.map { state in
            let result = CommandResult(re: id, session: session, state: state)
            return .string(JSONValue.object(result.members).text)
        }
        members["digest"] = answerDigest.map { .string(Base64URL.encode($0)) }
        if isConfirmed { members["confirmed"] = .bool(true) }
        return .object(members)
    }
}
