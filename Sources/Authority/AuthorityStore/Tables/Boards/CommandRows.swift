import AuthorityCore
import Gate
import PostgreSQLClient
import Sessions
import Wire

/// Commands to apps on boards.
extension StoreTransaction {
    /// As the indexes have it.
    private static let isOpen = "state IN ('waiting', 'delivered')"

    func command(_ id: MessageID) throws(AuthorityError) -> CommandRecord? {
        try row("SELECT * FROM commands WHERE id = ?", [id.description]).map(readCommand)
    }

    func commands(
        of board: InstallationID, limit: Int
    ) throws(AuthorityError) -> [CommandRecord] {
        try map(
            try rows(
                """
                SELECT * FROM commands WHERE installation_id = ? ORDER BY number DESC LIMIT ?
                """, [board.description, limit]), readCommand)
    }

    func openCommands(of board: InstallationID) throws(AuthorityError) -> [CommandRecord] {
        try map(
            try rows(
                """
                SELECT * FROM commands WHERE installation_id = ? AND \(Self.isOpen)
                ORDER BY number
                """, [board.description]), readCommand)
    }

    func openCommands(by user: UserID) throws(AuthorityError) -> [CommandRecord] {
        try map(
            try rows(
                "SELECT * FROM commands WHERE user_id = ? AND \(Self.isOpen) ORDER BY number",
                [user.description]), readCommand)
    }

    func dueCommands(at now: Timestamp, limit: Int) throws(AuthorityError) -> [CommandRecord] {
        try map(
            try rows(
                "SELECT * FROM commands WHERE due_at <= ? ORDER BY due_at LIMIT ?",
                [now.milliseconds, limit]), readCommand)
    }

    func commandCount(
        of board: InstallationID, deadlineAfter time: Timestamp
    ) throws(AuthorityError) -> Int {
        try row(
            """
            SELECT count(*) AS count FROM commands WHERE installation_id = ? AND deadline > ?
            """, [board.description, time.milliseconds]
        ).map { row throws(AuthorityError) in try row.value("count") } ?? 0
    }

    func commandTime(
        of board: InstallationID, skipping skipped: Int, since: Timestamp
    ) throws(AuthorityError) -> Timestamp? {
        try row(
            """
            SELECT created_at FROM commands WHERE installation_id = ?
            ORDER BY number DESC LIMIT 1 OFFSET ?
            """, [board.description, skipped]
        ).map { row throws(AuthorityError) in try row.time("created_at") }
            .flatMap { $0 > since ? $0 : nil }
    }

    func insert(_ command: CommandRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO commands (
                id, installation_id, session_id, user_id, app, text, created_at, deadline, state,
                delivery, answer, refusal, own_end, sends, sent_at, due_at
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [command.id.description, command.board.description, command.session.description,
             command.user.description, command.app.description, command.text,
             command.createdAt.milliseconds, command.deadline.milliseconds] + changing(command))
        try run(
            """
            UPDATE commands SET text = NULL, answer = NULL, refusal = NULL
            WHERE installation_id = ?1 AND text IS NOT NULL AND NOT \(Self.isOpen)
                AND number <= (
                    SELECT number FROM commands WHERE installation_id = ?1
                    ORDER BY number DESC LIMIT 1 OFFSET ?2)
            """, [command.board.description, CommandLimits.textsOfBoard])
    }

    func update(_ command: CommandRecord) throws(AuthorityError) {
        try run(
            """
            UPDATE commands SET state = ?, delivery = ?, answer = ?, refusal = ?, own_end = ?,
                sends = ?, sent_at = ?, due_at = ?
            WHERE id = ?
            """, changing(command) + [command.id.description])
    }

    func deleteCommands(of board: InstallationID) throws(AuthorityError) {
        try run("DELETE FROM commands WHERE installation_id = ?", [board.description])
    }

    func deleteCommands(
        deadlineBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM commands WHERE number IN (
                SELECT number FROM commands WHERE deadline < ? LIMIT ?)
            """, [time.milliseconds, limit])
    }

    /// The columns that `update` writes, in its order.
    private func changing(_ command: CommandRecord) -> [(any SQLBindable)?] {
        [
            command.state.rawValue, command.delivery.rawValue, command.answer,
            command.refusal?.json.text, command.isOwnEnd, command.sends,
            command.sentAt?.milliseconds, command.dueAt?.milliseconds,
        ]
    }

    private func readCommand(_ row: SQLRow) throws(AuthorityError) -> CommandRecord {
        var command = CommandRecord(
            id: try row.parsed("id", MessageID.init),
            board: try row.parsed("installation_id", InstallationID.init),
            session: try row.parsed("session_id", ObjectID.init),
            user: try row.parsed("user_id", UserID.init),
            app: try row.parsed("app") { AppName($0) }, text: try row.optional("text"),
            createdAt: try row.time("created_at"), deadline: try row.time("deadline"))
        command.state = try row.parsed("state", CommandRecord.State.init(rawValue:))
        command.delivery = try row.parsed("delivery", CommandRecord.Delivery.init(rawValue:))
        command.answer = try row.optional("answer")
        command.refusal = try row.parsedOptional("refusal", CommandRefusal.init(text:))
        command.isOwnEnd = try row.value("own_end")
        command.sends = try row.value("sends")
        command.sentAt = try row.optionalTime("sent_at")
        command.dueAt = try row.optionalTime("due_at")
        return command
    }
}
