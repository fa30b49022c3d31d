import AuthorityCore
import Sessions
import Wire

extension MemoryTransaction {
    func reply(to request: MessageID, of board: InstallationID) -> [UInt8]? {
        tables.replies[Tables.ReplyKey(board: board, request: request)]?.payload
    }

    func save(_ reply: ReplyRecord) throws(AuthorityError) {
        let key = Tables.ReplyKey(board: reply.installation, request: reply.request)
        guard tables.replies[key] == nil else { throw refuse("one reply to a request") }
        tables.replies[key] = reply
    }

    func expireReply(to request: MessageID, of board: InstallationID, at time: Timestamp) {
        let key = Tables.ReplyKey(board: board, request: request)
        guard let found = tables.replies[key] else { return }
        tables.replies[key] = ReplyRecord(
            installation: board, request: request, payload: found.payload,
            createdAt: found.createdAt, expiresAt: time)
    }

    func deleteReplies(expiredBefore time: Timestamp, limit: Int) -> Int {
        let gone = tables.replies.filter { $0.value.expiresAt.map { $0 < time } ?? false }
            .keys.prefix(limit)
        for key in gone { tables.replies[key] = nil }
        return gone.count
    }

    func add(_ job: BrokerJob) {
        tables.lastJob += 1
        tables.jobs.append(NumberedJob(number: tables.lastJob, job: job))
    }

    func jobs(in line: String) -> [NumberedJob] {
        Array(tables.jobs.lazy.filter { $0.job.line == line }.prefix(100))
    }

    func removeJob(_ number: Int64) -> Bool {
        guard let place = tables.jobs.firstIndex(where: { $0.number == number }) else {
            return false
        }
        tables.jobs.remove(at: place)
        return true
    }

    func linesWithJobs() -> [String] {
        var lines: [String] = []
        for job in tables.jobs where !lines.contains(job.job.line) {
            lines.append(job.job.line)
        }
        return lines
    }

    func personLogin(_ session: ObjectID) -> PersonLogin? { tables.personLogins[session] }

    func personLogins(of user: UserID) -> [PersonLogin] {
        tables.personLogins.values.filter { $0.user == user }
    }

    func sessionsWithPersonLogin() -> [ObjectID] { Array(tables.personLogins.keys) }

    func save(_ login: PersonLogin) { tables.personLogins[login.session] = login }

    func deletePersonLogin(_ session: ObjectID) { tables.personLogins[session] = nil }

    // Nobody has a consumer in these schedules.
    func consumer(_ id: ObjectID) -> ConsumerRecord? { nil }
    func consumers(of user: UserID) -> [ConsumerRecord] { [] }
    func everyConsumer() -> [ObjectID] { [] }
    func consumers(endedBy time: Timestamp, limit: Int) -> [ConsumerRecord] { [] }
    func insert(_ consumer: ConsumerRecord) throws(AuthorityError) -> Bool {
        throw refuse("no consumers")
    }
    func setBoards(_ boards: [InstallationID], of consumer: ObjectID) {}
    func deleteConsumer(_ id: ObjectID) -> Bool { false }

    // Nobody shares a board.
    func share(of board: InstallationID, with user: UserID) -> ShareRecord? { nil }
    func shares(of board: InstallationID) -> [ShareRecord] { [] }
    func shares(with user: UserID) -> [ShareRecord] { [] }
    func shares(endedBy time: Timestamp, limit: Int) -> [ShareRecord] { [] }
    func save(_ share: ShareRecord) throws(AuthorityError) { throw refuse("no shares") }
    func deleteShare(_ id: ObjectID) -> Bool { false }
    func invitation(hash: [UInt8]) -> InvitationRecord? { nil }
    func invitations(to board: InstallationID) -> [InvitationRecord] { [] }
    func insert(_ invitation: InvitationRecord) throws(AuthorityError) {
        throw refuse("no invitations")
    }
    func deleteInvitation(_ id: ObjectID) -> Bool { false }
    func moveInvitations(from board: InstallationID, to successor: InstallationID) {}
    func deleteInvitations(expiredBefore time: Timestamp, limit: Int) -> Int { 0 }

    // Nobody looks at a list of boards.
    func boards(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) -> [RankedBoard] { [] }
    func boardCounts(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) -> BoardCounts { BoardCounts() }
    func boardLabels(of owner: UserID?) -> [BoardLabel: Int] { [:] }

    // And nothing is announced to Home Assistant.
    func sensors(of board: InstallationID) -> [SensorID] { [] }
    func setSensors(_ sensors: [SensorID], of board: InstallationID) {}
    func sensorCount() -> Int { 0 }
    func boardsWithSensors(released: Bool, limit: Int) -> [InstallationID] { [] }

    func append(_ entry: AuditEntry) {
        var entry = entry
        tables.lastEntry += 1
        entry.number = tables.lastEntry
        tables.audit.append(entry)
    }

    func entries(_ query: AuditQuery) -> [AuditEntry] {
        let found = tables.audit.reversed().lazy.filter { entry in
            (query.board.map { entry.board == $0 } ?? true)
                && (query.session.map { entry.session == $0 } ?? true)
                && (query.actor.map { entry.actor.lowercased() == $0.lowercased() } ?? true)
                && (query.event.map { entry.event.hasPrefix($0) } ?? true)
                && (query.since.map { entry.at >= $0 } ?? true)
                && (query.until.map { entry.at <= $0 } ?? true)
                && (query.before.map { entry.number < $0 } ?? true)
        }
        return Array(found.prefix(min(max(query.limit, 1), 1000)))
    }

    func entries(after number: Int64, limit: Int) -> [AuditEntry] {
        Array(tables.audit.lazy.filter { $0.number > number }.prefix(limit))
    }

    func newestEntry() -> Int64 { tables.lastEntry }

    func failure(_ key: String, skipping skipped: Int, since: Timestamp) -> Timestamp? {
        tables.failures.filter { $0.key == key && $0.at >= since }.map(\.at)
            .sorted(by: >).dropFirst(skipped).first
    }

    func countFailure(_ key: String, at now: Timestamp) {
        tables.failures.append(Tables.Failure(key: key, at: now))
    }

    func clearFailures(_ key: String) { tables.failures.removeAll { $0.key == key } }

    func forgiveFailure(_ key: String) {
        if let last = tables.failures.lastIndex(where: { $0.key == key }) {
            tables.failures.remove(at: last)
        }
    }

    func deleteFailures(before time: Timestamp) {
        tables.failures.removeAll { $0.at < time }
    }

    func keys() -> [KeyRecord] { tables.keys }

    func insert(_ key: KeyRecord) { tables.keys.insert(key, at: 0) }
}

// Nobody prepares claims.
extension MemoryTransaction {
    func preparedClaim(_ id: InstallationID) -> PreparedClaimRecord? { nil }
    func preparedClaim(claimedBy claim: MessageID) -> PreparedClaimRecord? { nil }
    func preparedClaims(of owner: UserID?, limit: Int) -> [PreparedClaimRecord] { [] }
    func openPreparedClaims(of owner: UserID) -> [PreparedClaimRecord] { [] }
    func preparedClaimCounts(of owner: UserID) -> (open: Int, all: Int) { (0, 0) }
    func preparedClaimsWithLogin() -> [InstallationID] { [] }
    func preparedClaims(expiredBefore time: Timestamp, limit: Int) -> [PreparedClaimRecord] { [] }
    func preparedClaimsUsedTwice(limit: Int) -> [PreparedClaimRecord] { [] }
    func save(_ prepared: PreparedClaimRecord) throws(AuthorityError) {
        throw refuse("no prepared claims")
    }
    func deletePreparedClaims(
        endedBefore time: Timestamp, unusedBefore unused: Timestamp, limit: Int
    ) -> Int { 0 }
}

// No board is replaced here.
extension MemoryTransaction {
    func replacement(of board: InstallationID) -> ReplacedBoard? { nil }
    func isReplaced(deviceKey: [UInt8]) -> Bool { false }
    func replaced(by board: InstallationID) -> [ReplacedBoard] { [] }
    func insert(_ replaced: ReplacedBoard) {}
    func moveTimeline(from board: InstallationID, to successor: InstallationID) {}
}
