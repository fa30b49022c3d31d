import CPostgreSQL

/// A statement that was sent to the server.
struct SentStatement {
    enum Kind { case write, read, commit, describe, sync }

    let kind: Kind
    let columns: SQLColumns
    let types: [ServerType]
}

/// The server's answer to one statement.
struct StatementAnswer {
    var rows: [SQLRow] = []
    var changes = 0
    var tag = ""
    var parameters: [ServerType] = []
    var columns = SQLColumns([])
    var types: [ServerType] = []
    /// The error of this statement. After a row that could not be decoded, the rest is still read.
    var failure: PostgresError?
}

extension PostgresConnection {
    /// Queues a statement. If this connection does not know it, it is prepared first, which costs
    /// one round trip.
    func put(
        _ sql: String, _ values: [SQLValue], _ kind: SentStatement.Kind
    ) throws(PostgresError) {
        guard isUsable else { throw .lost("the connection is closed", whileCommitting: false) }
        // Waiting statements are stored here, and the server's answers to them in libpq. So limit
        // both.
        if unanswered.count >= Self.unansweredLimit { _ = try answer() }
        let statement = try prepared(sql)
        let parameters = try ParameterBytes(values, statement.parameters)
        try link.check(unsafe parameters.lend { values, lengths, formats in
            unsafe PQsendQueryPrepared(
                link.raw, statement.name, Int32(statement.parameters.count), values, lengths,
                formats, 1)
        })
        unanswered.append(SentStatement(
            kind: kind, columns: statement.columns, types: statement.types))
        unsentBytes += parameters.count
        if unsentBytes > Self.flushSize {
            try link.flush(deadline)
            unsentBytes = 0
        }
    }

    /// Sends all queued statements, waits for all of them and returns the last answer.
    ///
    /// Throws the error of the first that failed, after all are answered, or the error of the
    /// connection.
    func answer() throws(PostgresError) -> StatementAnswer {
        let isCommit = unanswered.last?.kind == .commit
        do throws(PostgresError) {
            return try answerAll()
        } catch {
            if case .server(let state, let text) = error, state.endsConnection {
                link.abandon()
                throw .lost(text, whileCommitting: isCommit)
            }
            if case .lost(let text, _) = error { throw .lost(text, whileCommitting: isCommit) }
            if case .server(let state, _) = error, state.spoilsStatements {
                // The next caller prepares its statements again, on another connection.
                link.abandon()
            }
            throw error
        }
    }

    private static let flushSize = 256 << 10
    private static let unansweredLimit = 2000

    private var deadline: ContinuousClock.Instant? { limits.answer.map { .now + $0 } }

    private func answerAll() throws(PostgresError) -> StatementAnswer {
        defer {
            unanswered.removeAll(keepingCapacity: true)
            unsentBytes = 0
        }
        try link.check(unsafe PQpipelineSync(link.raw))
        var failure: PostgresError?
        var last = StatementAnswer()
        reads = []
        for sent in unanswered {
            if sent.kind == .sync {
                try readSync()
                continue
            }
            last = try read(sent)
            if sent.kind == .read { reads.append(last.rows) }
            if failure == nil { failure = last.failure }
        }
        try readSync()
        if let failure { throw failure }
        return last
    }

    private func readSync() throws(PostgresError) {
        guard let sync = try link.next(deadline), sync.status == PGRES_PIPELINE_SYNC else {
            throw link.lost("the server's answers do not match the statements")
        }
    }

    /// Ends the implicit transaction of statements without `begin`. It does not wait.
    func putSync() throws(PostgresError) {
        try link.check(unsafe PQpipelineSync(link.raw))
        expect(.sync)
    }

    /// Reads all results of one statement.
    private func read(_ sent: SentStatement) throws(PostgresError) -> StatementAnswer {
        // Read row by row, so that an endless result is noticed before it fills the memory. If
        // libpq already has the rows, it refuses, which does no harm.
        if sent.kind == .read { _ = unsafe PQsetSingleRowMode(link.raw) }
        var answer = StatementAnswer()
        var size = 0
        while let result = try link.next(deadline) {
            switch result.status {
            case PGRES_SINGLE_TUPLE, PGRES_TUPLES_OK:
                for row in 0..<result.rowCount {
                    size += result.size(row: row)
                    guard answer.rows.count < limits.rows, size <= limits.bytes else {
                        link.abandon()
                        throw .tooLarge("\(answer.rows.count) rows, \(size) bytes")
                    }
                    if sent.kind == .read { take(result, row, sent, &answer) }
                }
                answer.changes = result.changes
                answer.tag = result.tag
            case PGRES_COMMAND_OK:
                answer.changes = result.changes
                answer.tag = result.tag
                if sent.kind == .describe { take(result, &answer) }
            case PGRES_FATAL_ERROR:
                let (state, text) = result.error
                answer.failure = .server(state, text)
            case PGRES_PIPELINE_ABORTED:
                answer.failure = .server(.failedTransaction, "skipped after an earlier error")
            default:
                throw link.lost("an answer of an unknown kind")
            }
        }
        return answer
    }

    private func take(
        _ result: borrowing ServerResult, _ row: Int32, _ sent: SentStatement,
        _ answer: inout StatementAnswer
    ) {
        guard answer.failure == nil else { return }
        do throws(PostgresError) {
            let values = try result.values(row: row, sent.types)
            answer.rows.append(SQLRow(columns: sent.columns, values: values))
        } catch {
            answer.failure = error
        }
    }

    private func take(_ result: borrowing ServerResult, _ answer: inout StatementAnswer) {
        do throws(PostgresError) {
            answer.parameters = try result.parameterTypes()
            (answer.columns, answer.types) = try result.columns()
        } catch {
            answer.failure = error
        }
    }
}

extension PostgresConnection {
    /// The prepared statement, with the types that the server infers.
    ///
    /// A new statement is prepared and described. This also answers all statements that were queued
    /// before it.
    func prepare(_ sql: String) throws(PostgresError) { _ = try prepared(sql) }

    private func prepared(_ sql: String) throws(PostgresError) -> PreparedStatement {
        if let known = statements.find(sql) { return known }
        guard !sql.utf8.contains(0) else { throw .misfit("a statement contains a NUL") }
        let name = statements.newName()
        try link.check(unsafe PQsendPrepare(link.raw, name, PlaceholderText.of(sql), 0, nil))
        expect(.write)
        try link.check(unsafe PQsendDescribePrepared(link.raw, name))
        expect(.describe)
        let described = try answer()
        let statement = PreparedStatement(
            name: name, parameters: described.parameters, columns: described.columns,
            types: described.types)
        if let dropped = statements.add(statement, sql) {
            let command = "DEALLOCATE \(dropped)"
            try link.check(
                unsafe PQsendQueryParams(link.raw, command, 0, nil, nil, nil, nil, 1))
            expect(.write)
        }
        return statement
    }

    private func expect(_ kind: SentStatement.Kind) {
        unanswered.append(SentStatement(kind: kind, columns: SQLColumns([]), types: []))
    }
}
