package import Gate
package import Sessions
import Wire

/// A command from a person to an app on a board, as the store keeps it.
///
/// Source: the wire contract, Commands.
package struct CommandRecord: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// The board has not said that its app has it.
        case waiting
        case delivered
        case answered
        case refused
        case expired
    }

    package enum Delivery: String, Sendable {
        case none
        /// The app may have it: the board or its bus ended during the handover, or the command
        /// was sent and nobody knows what became of it.
        case uncertain
        case sure
    }

    package let id: MessageID
    package let board: InstallationID
    /// The board's session for which the command was made.
    package let session: ObjectID
    package let user: UserID
    package let app: AppName
    /// JSON. Nil: deleted, because the board had many commands since.
    package let text: String?
    package let createdAt: Timestamp
    package let deadline: Timestamp
    package var state = State.waiting
    package var delivery = Delivery.none
    /// JSON, as the app gave it.
    package var answer: String?
    package var refusal: CommandRefusal?
    /// Whether the authority ended it as expired: the board may still say how it went.
    package var isOwnEnd = false
    /// How often it was sent on the board's present connection.
    package var sends = 0
    /// Nil: it was never sent, so no app has it.
    package var sentAt: Timestamp?
    /// When it is sent again or expires. Nil: it has ended.
    package var dueAt: Timestamp?

    package init(
        id: MessageID, board: InstallationID, session: ObjectID, user: UserID, app: AppName,
        text: String?, createdAt: Timestamp, deadline: Timestamp
    ) {
        self.id = id
        self.board = board
        self.session = session
        self.user = user
        self.app = app
        self.text = text
        self.createdAt = createdAt
        self.deadline = deadline
        dueAt = createdAt
    }

    package var isOpen: Bool { state == .waiting || state == .delivered }
}

/// Why a board or its authority refused a command.
package struct CommandRefusal: Equatable, Sendable {
    package let refusal: Refusal
    /// The rule on the board that decided.
    package let rule: String?
    /// The field of the command that the rule does not allow.
    package let field: String?

    package init(refusal: Refusal, rule: String? = nil, field: String? = nil) {
        self.refusal = refusal
        self.rule = rule
        self.field = field
    }

    /// The form in which it is stored and shown.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(refusal.code)), "error": .string(refusal.text),
        ]
        members["rule"] = rule.map(JSONValue.string)
        members["field"] = field.map(JSONValue.string)
        return .object(members)
    }

    /// Nil unless it is the text of `json`.
    package init?(text: String) {
        do throws(WireError) {
            let json = try JSONObject(parsing: Array(text.utf8))
            self.init(
                refusal: Refusal(
                    code: Int(try json.integer("code")), text: try json.string("error")),
                rule: try json.optional("rule") { $0.asString },
                field: try json.optional("field") { $0.asString })
        } catch {
            return nil
        }
    }
}

/// The limits of commands. Source: the wire contract, Commands.
package enum CommandLimits {
    /// The most commands of one board that have not ended.
    package static let waitingLimit = 16
    /// The most commands of one board whose deadlines have not passed: the board keeps 64 ids.
    package static let aheadLimit = 60
    /// How many of a board's newest commands keep their text and answer.
    package static let textsOfBoard = 100
    /// How many commands a list shows.
    package static let listLength = 20
    /// How long a command is kept after its deadline.
    static let memory = Duration.seconds(86_400)
    /// The board speaks first: the authority waits so long after the deadline.
    static let grace = Duration.seconds(2)
    /// The time between two looks at a command whose board is away.
    static let awayPause = Duration.seconds(60)

    /// The time from one sending to the next: 10 s, doubling to 60 s.
    static func pause(after sends: Int) -> Duration {
        sends < 4 ? .seconds(min(10 << max(sends - 1, 0), 60)) : .seconds(60)
    }
}

extension CommandRecord {
    /// When the authority ends the command by itself.
    var end: Timestamp { deadline + CommandLimits.grace }

    /// Whether a sending is due. An earlier one may have been lost.
    func maySend(at now: Timestamp) -> Bool {
        guard state == .waiting, now < deadline else { return false }
        guard sends > 0, let sentAt else { return true }
        return now >= sentAt + CommandLimits.pause(after: sends)
    }

    /// Sends it at once, or 10 s after the last sending.
    mutating func restart(at now: Timestamp) {
        guard let sentAt, now < sentAt + CommandLimits.pause(after: 1) else {
            return sends = 0
        }
        sends = 1
        dueAt = min(sentAt + CommandLimits.pause(after: 1), end)
    }

    /// The authority ends it without a word of the board.
    mutating func endUnheard() {
        if delivery == .none, sentAt != nil { delivery = .uncertain }
        (state, isOwnEnd, dueAt) = (.expired, true, nil)
    }

    mutating func noteSent(at now: Timestamp) {
        sends += 1
        sentAt = now
        dueAt = min(now + CommandLimits.pause(after: sends), end)
    }
}

package protocol CommandTable {
    func command(_ id: MessageID) throws(AuthorityError) -> CommandRecord?
    /// The newest first.
    func commands(of board: InstallationID, limit: Int) throws(AuthorityError) -> [CommandRecord]
    /// Those of a board that have not ended, the oldest first.
    func openCommands(of board: InstallationID) throws(AuthorityError) -> [CommandRecord]
    /// Those that a user sent and that have not ended, the oldest first.
    func openCommands(by user: UserID) throws(AuthorityError) -> [CommandRecord]
    /// Those to send again or to end, at most `limit`.
    func dueCommands(at now: Timestamp, limit: Int) throws(AuthorityError) -> [CommandRecord]
    /// How many commands of a board have a later deadline, whatever became of them.
    func commandCount(
        of board: InstallationID, deadlineAfter time: Timestamp
    ) throws(AuthorityError) -> Int
    /// When the command was made that is followed by `skipped` newer ones of its board. Nil if it
    /// was made before `since`, or if there are no more than `skipped`.
    func commandTime(
        of board: InstallationID, skipping skipped: Int, since: Timestamp
    ) throws(AuthorityError) -> Timestamp?
    /// Inserts a command. Deletes text, answer and refusal of ended ones of its board, but not of
    /// the newest `CommandLimits.textsOfBoard`.
    func insert(_ command: CommandRecord) throws(AuthorityError)
    /// Writes what can change.
    func update(_ command: CommandRecord) throws(AuthorityError)
    func deleteCommands(of board: InstallationID) throws(AuthorityError)
    /// Deletes at most `limit` and returns how many.
    func deleteCommands(
        deadlineBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int
}
