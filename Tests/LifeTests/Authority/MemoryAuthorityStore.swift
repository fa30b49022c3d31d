import AuthorityCore
import Sessions
import Synchronization
import Wire

/// The authority's store in memory: each transaction is kept whole or not at all, and the
/// authority may die right before and right after it was.
final class MemoryAuthorityStore: RecordStore {
    private let kept: Mutex<Tables>
    private let died = Mutex(false)
    private let fates: Fates

    init(_ tables: Tables, _ fates: Fates) {
        kept = Mutex(tables)
        self.fates = fates
    }

    var tables: Tables { kept.withLock { $0 } }

    /// Whether the authority has died since it was last asked.
    func takeDeath() -> Bool {
        died.withLock { died in
            defer { died = false }
            return died
        }
    }

    func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let fault = fates.next(.commit, "")
        if fault == .cutBefore { throw die() }
        let transaction = MemoryTransaction(tables)
        let result = try body(transaction)
        kept.withLock { [tables = transaction.tables] in $0 = tables }
        if fault == .cutAfter { throw die() }
        return result
    }

    func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try body(MemoryTransaction(tables))
    }

    private func die() -> AuthorityError {
        died.withLock { $0 = true }
        return .failed(layer: "power", text: "cut")
    }
}

/// One transaction, while it lasts. What SQLite's constraints refuse, it refuses.
final class MemoryTransaction: AuthorityTransaction {
    var tables: Tables
    /// The newest job before it.
    let firstJob: Int64

    init(_ tables: Tables) {
        self.tables = tables
        firstJob = tables.lastJob
    }

    func refuse(_ constraint: String) -> AuthorityError {
        .failed(layer: "store", text: "constraint: \(constraint)")
    }
}

extension MemoryTransaction {
    func user(_ id: UserID) -> UserRecord? { tables.users[id] }

    func user(named name: String) -> UserRecord? {
        tables.users.values.first { Username.key(of: $0.username) == Username.key(of: name) }
    }

    func user(email: EmailAddress) -> UserRecord? {
        tables.users.values.first { $0.email?.key == email.key }
    }

    func saveProfile(_ user: UserRecord) { tables.users[user.objectID] = user }

    func users() -> [UserRecord] {
        tables.users.values.sorted { $0.username < $1.username }
    }

    func users(_ slice: ListSlice) -> [UserRecord] {
        slice.of(tables.users.values.sorted { $0.username.lowercased() < $1.username.lowercased() })
    }

    func insert(_ user: UserRecord) -> Bool {
        guard self.user(named: user.username) == nil else { return false }
        tables.users[user.objectID] = user
        return true
    }

    func setPasswordHash(_ hash: String, of user: UserID) {
        tables.users[user]?.passwordHash = hash
    }

    func board(_ id: InstallationID) -> BoardRecord? { tables.boards[id] }

    func deviceKeys(of board: InstallationID) -> [[UInt8]] {
        [tables.boards[board]?.deviceKey, tables.openClaim(on: board)?.deviceKey]
            .compactMap { $0 }
    }

    func boards(of owner: UserID?, after last: BoardRecord?, limit: Int) -> [BoardRecord] {
        func place(_ board: BoardRecord) -> (String, String) {
            (board.name, board.installation.description)
        }
        let found = tables.boards.values
            .filter { !$0.released && (owner == nil || $0.owner == owner) }
            .sorted { place($0) < place($1) }
        let rest = found.drop { board in last.map { place(board) <= place($0) } ?? false }
        return Array(rest.prefix(limit))
    }

    func boardsInSession(atMost limit: Int) -> Int {
        let held = tables.boards.keys.count { activeSession(on: $0) != nil }
        return min(held, limit)
    }

    func save(_ board: BoardRecord) { tables.boards[board.installation] = board }

    func status(of board: InstallationID) -> BoardStatus? { tables.statuses[board] }

    func setStatus(_ status: BoardStatus, of board: InstallationID) {
        tables.statuses[board] = status
    }

    func report(of board: InstallationID) -> StoredReport? { tables.reports[board] }

    func keep(_ report: BoardReport, of board: InstallationID, at now: Timestamp) {
        let report = report.withRules(of: tables.reports[board]?.report)
        tables.reports[board] = StoredReport(report: report, since: now)
    }

    func forgetReport(of board: InstallationID) { tables.reports[board] = nil }

    func configuration(of board: InstallationID) -> KeptConfiguration? {
        tables.configurations[board]
    }

    func keep(_ kept: KeptConfiguration?, of board: InstallationID) {
        tables.configurations[board] = kept
    }

    func brokerPassword(of board: InstallationID) -> SecretBytes? { tables.passwords[board] }

    func setBrokerPassword(_ password: SecretBytes?, of board: InstallationID) {
        tables.passwords[board] = password
    }

    func boardsWithLogin() -> [InstallationID] { Array(tables.passwords.keys) }

    func owners(
        of origins: [RecordOrigin]
    ) -> [RecordOrigin: RecordOwners] {
        var owners: [RecordOrigin: RecordOwners] = [:]
        for origin in origins {
            guard let board = board(origin.board) else { continue }
            let row = tables.sessions[origin.session]
            let session = row?.record.board == origin.board ? row : nil
            owners[origin] = RecordOwners(
                present: board.released ? nil : board.owner, ownedSince: board.ownedSince,
                session: session.map { row in
                    RecordSession(
                        user: row.record.session.user, createdAt: row.record.session.createdAt,
                        endedAt: row.endedAt)
                })
        }
        return owners
    }

    func nextSequence(
        sealKey: KeyID, board: InstallationID, at now: Timestamp
    ) -> Int64 {
        let key = Tables.SequenceKey(sealKey: sealKey, board: board)
        let next = max((tables.sequences[key] ?? 0) + 1, now.milliseconds)
        tables.sequences[key] = next
        return next
    }
}
