package import Sessions
package import Wire

/// Computes the broker's desired state from the store's present records.
extension Authority {
    /// Adds the jobs that update the broker for a board. Deletes the password of a client that must
    /// not exist any more.
    func addBrokerJobs(
        _ board: InstallationID, newPassword: Bool = false,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        // The order matters. A board receives its revocation before its role shrinks. A message is
        // cleared before its reader's login goes. A login exists before it is used. The
        // provisioning of an open claim also waits for its login: otherwise a board could receive
        // it over the old login, be cut off before its acceptance is sent, and come back with old
        // passwords.
        let isClaimed = try transaction.openClaim(on: board) != nil
        let isDeparting = try transaction.departing(on: board) != nil
        let isLeaving = isDeparting && !isClaimed
        let isGone = try access(of: board, transaction, at: now) == nil
        let login = BrokerJob.login(board, password: newPassword)
        for job in isLeaving || isGone ? [.inbox(board), login] : [login, .inbox(board)] {
            try transaction.add(job)
        }
        if isGone { try transaction.setBrokerPassword(nil, of: board) }
    }

    /// Adds jobs because `board` became or is no longer a user's own: the user's programs and
    /// consumers may read other boards now. `lost`: it is no longer the user's.
    func addReaderJobs(
        of user: UserID, on board: InstallationID, lost: Bool,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        for login in try transaction.personLogins(of: user) {
            try transaction.add(.reader(login.reader, mayDoLess: lost))
        }
        for consumer in try transaction.consumers(of: user) where consumer.mayRead(board) {
            try transaction.add(.reader(consumer.reader, mayDoLess: lost))
        }
    }

    /// The access of a board at the broker: without data (`endNotice`), or with data and extra
    /// topics. Nil: no access.
    private enum Access {
        case endNotice
        case data(extraTopics: [String])
    }

    private func access(
        of board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Access? {
        if let active = try transaction.activeSession(on: board) {
            return .data(extraTopics: try topics(of: active))
        }
        if try transaction.departing(on: board) != nil { return .endNotice }
        // Data is allowed only after acceptance, because the claimant knows the first password,
        // too.
        return try transaction.openClaim(on: board) == nil ? nil : .endNotice
    }

    private func topics(of record: SessionRecord) throws(AuthorityError) -> [String] {
        let topics = try record.scope?.document().topics ?? []
        // The scope may be older than the announcements.
        return topics.filter { rules.mayGrant($0) }
    }

    package func desiredState(
        for board: InstallationID
    ) async throws(AuthorityError) -> DesiredBoard {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            let login = try login(of: board, transaction, at: now)
            if login == nil, let prepared = try transaction.preparedClaim(board) {
                return DesiredBoard(
                    login: Self.login(of: prepared, at: now), retained: nil, status: nil,
                    isPrepared: true)
            }
            return DesiredBoard(
                login: login, retained: try retained(on: board, transaction, at: now),
                status: try transaction.status(of: board))
        }
    }

    /// The message that the board's inbox should retain. Nil: none.
    package func retained(
        on board: InstallationID
    ) async throws(AuthorityError) -> DesiredBoard.Retained? {
        let now = clock()
        return try await store.glance { transaction throws(AuthorityError) in
            try retained(on: board, transaction, at: now)
        }
    }

    /// The board's login at the broker, without its retained message.
    func brokerLogin(of board: InstallationID) async throws(AuthorityError) -> DesiredBoard.Login? {
        let now = clock()
        return try await store.glance { transaction throws(AuthorityError) in
            if let login = try login(of: board, transaction, at: now) { return login }
            return try transaction.preparedClaim(board).flatMap { Self.login(of: $0, at: now) }
        }
    }

    private static func login(
        of prepared: PreparedClaimRecord, at now: Timestamp
    ) -> DesiredBoard.Login? {
        prepared.openKeys(at: now).map { keys in
            DesiredBoard.Login(
                password: keys.brokerPassword, extraTopics: nil, isPrepared: true)
        }
    }

    private func login(
        of board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> DesiredBoard.Login? {
        guard let access = try access(of: board, transaction, at: now),
            let password = try transaction.brokerPassword(of: board)
        else { return nil }
        return switch access {
        case .endNotice: DesiredBoard.Login(password: password, extraTopics: nil)
        case .data(let topics): DesiredBoard.Login(password: password, extraTopics: topics)
        }
    }

    /// The message to retain. The provisioning of an open claim comes before a revocation: a board
    /// that accepts it need not confirm the old session's end. A changed scope comes last.
    private func retained(
        on board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> DesiredBoard.Retained? {
        if let claim = try transaction.openClaim(on: board), let payload = claim.payload,
            claim.expiresAt > now
        {
            return DesiredBoard.Retained(payload: payload, until: claim.expiresAt)
        }
        if let endNotice = try transaction.departing(on: board)?.endNotice,
            let payload = endNotice.payload, endNotice.until > now
        {
            return DesiredBoard.Retained(payload: payload, until: endNotice.until)
        }
        guard let active = try transaction.activeSession(on: board),
            let notice = active.scopeNotice
        else { return nil }
        let longest = now + AuthorityRules.longestEndNotice
        return DesiredBoard.Retained(
            payload: notice.payload, until: min(active.session.expiresAt ?? longest, longest))
    }

    /// Nil: the reader must have no client.
    package func desiredState(
        for reader: BrokerReader
    ) async throws(AuthorityError) -> DesiredReader? {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            switch reader {
            case .consumer(let id):
                return try desiredState(ofConsumer: id, transaction, at: now)
            case .person(let session):
                guard let login = try transaction.personLogin(session),
                    let user = try transaction.user(login.user)
                else { return nil }
                return DesiredReader(
                    username: reader.username, password: login.password,
                    filters: try filters(of: user, transaction))
            }
        }
    }

    func filters(
        of user: UserRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> [String] {
        let root = info.topicRoot
        if user.isAdministrator { return ["\(root)/+/data/#", "\(root)/+/status"] }
        var filters: [String] = []
        try eachBoard(of: user.objectID, transaction) { board in
            filters.append("\(root)/\(board.installation)/data/#")
            filters.append("\(root)/\(board.installation)/status")
        }
        return filters
    }

    func eachBoard(
        of user: UserID, _ transaction: any AuthorityTransaction, _ body: (BoardRecord) -> Void
    ) throws(AuthorityError) {
        var last: BoardRecord?
        repeat {
            let boards = try transaction.boards(of: user, after: last, limit: Self.boardsOfLook)
            boards.forEach(body)
            last = boards.count < Self.boardsOfLook ? nil : boards.last
        } while last != nil
    }

    /// One query has a limit, but a person may have more boards.
    private static let boardsOfLook = 10_000

    package func jobs(in line: String) async throws(AuthorityError) -> [NumberedJob] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.jobs(in: line)
        }
    }

    package func linesWithJobs() async throws(AuthorityError) -> [String] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.linesWithJobs()
        }
    }

    /// Removes a finished job.
    ///
    /// If another authority removed it first, this process had lost the lock, and its changes may
    /// have come after later ones. So the job is added again and is done from the desired state at
    /// that time.
    package func done(_ job: NumberedJob) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            guard try !transaction.removeJob(job.number) else { return }
            if case .say = job.job { return }
            try transaction.add(job.job)
        }
    }

    /// Adds jobs that restore logins at the broker, because the broker lacks them or may hold old
    /// ones from a backup. A board that is online has the right password; setting one would
    /// disconnect it.
    package func restore(
        logins boards: [InstallationID], readers: [BrokerReader]
    ) async throws(AuthorityError) {
        try await inSlices(boards) { board, transaction throws(AuthorityError) in
            let isUp = try transaction.status(of: board)?.up == true
            try transaction.add(.login(board, password: !isUp))
        }
        try await inSlices(readers) { reader, transaction throws(AuthorityError) in
            try transaction.add(.reader(reader, mayDoLess: true))
        }
    }

    /// Adds jobs that restore retained messages. A broker that lost its disk has none. A broker
    /// with an older disk still has messages that were cleared since, until they expire. Boards
    /// without such a message cost nothing.
    package func restoreRetained() async throws(AuthorityError) {
        let now = clock()
        var last: InstallationID?
        repeat {
            let boards = try await store.read { [last] transaction throws(AuthorityError) in
                try transaction.boardsWithInbox(
                    at: now, endedAfter: now - AuthorityRules.longestEndNotice, after: last,
                    limit: Self.inboxesOfLook)
            }
            last = boards.count < Self.inboxesOfLook ? nil : boards.last
            try await inSlices(boards) { board, transaction throws(AuthorityError) in
                try transaction.add(.inbox(board))
            }
        } while last != nil
    }

    /// Runs `act` for each element in order, in transactions of limited size.
    private func inSlices<T: Sendable>(
        _ all: [T],
        _ act: @escaping @Sendable (T, any AuthorityTransaction) throws(AuthorityError) -> Void
    ) async throws(AuthorityError) {
        var rest = all[...]
        while !rest.isEmpty {
            let slice = Array(rest.prefix(Self.transactionSize))
            rest = rest.dropFirst(slice.count)
            try await store.transact { transaction throws(AuthorityError) in
                for one in slice { try act(one, transaction) }
            }
        }
    }

    /// One query scans all claims, so it returns many. A transaction makes others wait, so it is
    /// short.
    private static let inboxesOfLook = 10_000
    private static let transactionSize = 500

    /// All boards, prepared claims and readers that should have a client at the broker.
    package func everyLogin() async throws(AuthorityError) -> BrokerPopulation {
        try await store.read { transaction throws(AuthorityError) in
            BrokerPopulation(
                boards: try transaction.boardsWithLogin()
                    + transaction.preparedClaimsWithLogin(),
                readers: try transaction.sessionsWithPersonLogin().map(BrokerReader.person)
                    + transaction.everyConsumer().map(BrokerReader.consumer))
        }
    }

    /// Stores a board's status from the broker.
    package func note(
        _ status: BoardStatus, of board: InstallationID
    ) async throws(AuthorityError) {
        let now = clock()
        try await transactAndTell { transaction throws(AuthorityError) in
            let known = try transaction.board(board)
            let claim = try transaction.openClaim(on: board)
            let old = try transaction.status(of: board)
            guard known != nil || claim != nil, old != status else { return }
            try transaction.setStatus(status, of: board)
            try transaction.touch(board)
            guard known != nil else { return }
            if status.up, old?.up != true || old?.since != status.since {
                try sendAgain(to: board, transaction, at: now)
            }
            try noteChange(from: old, to: status, of: board, transaction, at: now)
        }
    }

    /// Adds the changes between two statuses to the timeline.
    private func noteChange(
        from old: BoardStatus?, to status: BoardStatus, of board: InstallationID,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let refused = status.refused(since: old)
        let isOther = (old?.up ?? false) != status.up
        guard refused > 0 || isOther else { return }
        let session = try transaction.activeSession(on: board)?.id
        if refused > 0 {
            try transaction.append(
                TimelineEntry(
                    event: .refused, session: session, at: now, count: min(refused, 1 << 30)),
                to: board)
        }
        guard isOther else { return }
        try note(status.up ? .online : .offline, on: board, session, "", transaction, at: now)
    }
}

/// All boards and readers that should have a client at the broker.
package struct BrokerPopulation: Sendable {
    package let boards: [InstallationID]
    package let readers: [BrokerReader]

    package init(boards: [InstallationID], readers: [BrokerReader]) {
        self.boards = boards
        self.readers = readers
    }
}
