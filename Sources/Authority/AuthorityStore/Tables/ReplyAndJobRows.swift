import AuthorityCore
import PostgreSQLClient
import Sessions

/// Replies that are kept for redeliveries, and pending broker changes.
extension StoreTransaction {
    func reply(
        to request: MessageID, of board: InstallationID
    ) throws(AuthorityError) -> [UInt8]? {
        try firstLooks([FirstQuestion(request: request, board: board, tokenHash: nil)]).first?.reply
    }

    func firstLooks(_ questions: [FirstQuestion]) throws(AuthorityError) -> [FirstLook] {
        // If two processes answer the same request at once, only one can save its reply.
        let replies = questions.map { question in
            query(
                "SELECT payload FROM replies WHERE installation_id = ? AND request_id = ?",
                [question.board.description, question.request.description])
        }
        let sessions = questions.compactMap { $0.tokenHash.map(boardSessionQuery) }
        let found = try runner.rows(before: replies, sessions)
        var places = found.rows[...]
        var looks: [FirstLook] = []
        for (question, reply) in zip(questions, found.before) {
            let session = question.tokenHash == nil ? nil : places.popFirst()?.first
            looks.append(FirstLook(
                reply: try reply.first.map { row throws(AuthorityError) in
                    try row.bytes("payload")
                },
                session: try session.map(readBoardSession)))
        }
        return looks
    }

    func save(_ reply: ReplyRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO replies (installation_id, request_id, payload, created_at, expires_at)
            VALUES (?, ?, ?, ?, ?)
            """,
            [reply.installation.description, reply.request.description, reply.payload,
             reply.createdAt.milliseconds, reply.expiresAt?.milliseconds])
    }

    func expireReply(
        to request: MessageID, of board: InstallationID, at time: Timestamp
    ) throws(AuthorityError) {
        try runAfterwards(
            "UPDATE replies SET expires_at = ? WHERE installation_id = ? AND request_id = ?",
            [time.milliseconds, board.description, request.description])
    }

    func deleteReplies(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM replies WHERE number IN (
                SELECT number FROM replies WHERE expires_at < ? LIMIT ?)
            """, [time.milliseconds, limit])
    }

    func trimReplies(
        of board: InstallationID, toNewest count: Int
    ) throws(AuthorityError) {
        try runAfterwards(
            """
            DELETE FROM replies WHERE number IN (
                SELECT number FROM replies WHERE installation_id = ?
                ORDER BY number DESC LIMIT \(dialect.unlimited) OFFSET ?)
            """, [board.description, count])
    }

    func add(_ job: BrokerJob) throws(AuthorityError) {
        var password = false
        var payload: [UInt8]?
        var until: Int64?
        let kind: String
        switch job {
        case .login(_, let changed): (kind, password) = ("login", changed)
        case .inbox: kind = "inbox"
        case .say(_, let bytes, let time):
            (kind, payload, until) = ("say", bytes, time.milliseconds)
        case .commands: kind = "commands"
        case .reader(.person, let isLess): kind = isLess ? "person less" : "person"
        case .reader(.consumer, let isLess): kind = isLess ? "consumer less" : "consumer"
        }
        try run(
            "INSERT INTO jobs (line, kind, password, payload, until) VALUES (?, ?, ?, ?, ?)",
            [job.line, kind, password, payload, until])
        noteJob(in: job.line)
    }

    func jobs(in line: String) throws(AuthorityError) -> [NumberedJob] {
        try map(
            try rows("SELECT * FROM jobs WHERE line = ? ORDER BY number LIMIT 100", [line]),
            readJob)
    }

    func removeJob(_ number: Int64) throws(AuthorityError) -> Bool {
        try change("DELETE FROM jobs WHERE number = ?", [number]) > 0
    }

    /// The boards and sessions that wait longest, at most 10,000. Others follow when these are
    /// done.
    func linesWithJobs() throws(AuthorityError) -> [String] {
        try map(
            try rows(
                """
                SELECT line, min(number) AS first FROM jobs
                GROUP BY line ORDER BY first LIMIT 10000
                """)
        ) { row throws(AuthorityError) in try row.value("line") }
    }

    private func readReader(
        _ row: SQLRow, _ kind: String
    ) throws(AuthorityError) -> BrokerJob? {
        let id = try row.parsed("line", ObjectID.init)
        return switch kind {
        case "person": .reader(.person(session: id), mayDoLess: false)
        case "person less": .reader(.person(session: id), mayDoLess: true)
        case "consumer": .reader(.consumer(id), mayDoLess: false)
        case "consumer less": .reader(.consumer(id), mayDoLess: true)
        default: nil
        }
    }

    private func readJob(_ row: SQLRow) throws(AuthorityError) -> NumberedJob {
        let kind: String = try row.value("kind")
        let job: BrokerJob = switch kind {
        case "login":
            .login(
                try row.parsed("line", InstallationID.init), password: try row.value("password"))
        case "inbox": .inbox(try row.parsed("line", InstallationID.init))
        case "commands": .commands(try row.parsed("line", InstallationID.init))
        case "say":
            .say(
                try row.parsed("line", InstallationID.init), payload: try row.bytes("payload"),
                until: try row.time("until"))
        default:
            if let job = try readReader(row, kind) { job } else { throw damaged("kind") }
        }
        return NumberedJob(number: try row.value("number"), job: job)
    }
}
