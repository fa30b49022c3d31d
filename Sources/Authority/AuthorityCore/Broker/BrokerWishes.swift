package import Sessions
package import Wire

/// What the broker should hold, computed from the records of the moment.
extension Authority {
    /// Notes that the broker must be brought in line for a board, and forgets the password of
    /// a client that is to exist no longer.
    func settleBroker(
        _ board: InstallationID, newPassword: Bool = false,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        // Revocation is heard before the role shrinks, and a message is cleared before its
        // reader goes; a login exists before it is used. An open claim's provisioning waits for
        // its login, too: a board that took it over the old one would be cut off before its
        // acceptance is out, and come back with passwords that are all of the past.
        let isClaimed = try transaction.openClaim(on: board) != nil
        let isDeparting = try transaction.departing(on: board) != nil
        let isLeaving = isDeparting && !isClaimed
        let isGone = try access(of: board, transaction, at: now) == nil
        let login = Chore.login(board, password: newPassword)
        for chore in isLeaving || isGone ? [.inbox(board), login] : [login, .inbox(board)] {
            try transaction.add(chore)
        }
        if isGone { try transaction.setBrokerPassword(nil, of: board) }
    }

    /// Notes that the programs of a user may read other boards than before; `lost`: one less.
    func settlePeople(
        of user: UserID, lost: Bool, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        for login in try transaction.personLogins(of: user) {
            try transaction.add(.person(login.session, mayDoLess: lost))
        }
    }

    /// What a board may do at the broker: nil nothing at all, otherwise whether its data may
    /// pass, and where else it may publish.
    private enum Access {
        case farewell
        case data(extraTopics: [String])
    }

    private func access(
        of board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Access? {
        if let active = try transaction.activeSession(on: board) {
            return .data(extraTopics: try topics(of: active))
        }
        if try transaction.departing(on: board) != nil { return .farewell }
        // Data passes once the board has accepted: who claims knows the first password, too.
        return try transaction.openClaim(on: board) == nil ? nil : .farewell
    }

    private func topics(of record: SessionRecord) throws(AuthorityError) -> [String] {
        guard let document = try record.scope?.document() else { return [] }
        return document.json.asObject?["topics"]?.asArray?.compactMap(\.asString) ?? []
    }

    package func wish(for board: InstallationID) async throws(AuthorityError) -> BoardWish {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            let login = try login(of: board, transaction, at: now)
            return BoardWish(
                login: login, retained: try retained(on: board, transaction, at: now),
                status: try transaction.status(of: board))
        }
    }

    /// What the board's inbox retains; nil for nothing.
    package func retained(
        on board: InstallationID
    ) async throws(AuthorityError) -> BoardWish.Retained? {
        let now = clock()
        return try await store.glance { transaction throws(AuthorityError) in
            try retained(on: board, transaction, at: now)
        }
    }

    /// The board's client at the broker, and nothing of what is retained for it.
    func brokerLogin(of board: InstallationID) async throws(AuthorityError) -> BoardWish.Login? {
        let now = clock()
        return try await store.glance { transaction throws(AuthorityError) in
            try login(of: board, transaction, at: now)
        }
    }

    private func login(
        of board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> BoardWish.Login? {
        guard let access = try access(of: board, transaction, at: now),
            let password = try transaction.brokerPassword(of: board)
        else { return nil }
        return switch access {
        case .farewell: BoardWish.Login(password: password, extraTopics: nil)
        case .data(let topics): BoardWish.Login(password: password, extraTopics: topics)
        }
    }

    /// An open provisioning before a farewell: whoever accepts it has nothing to answer for.
    private func retained(
        on board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> BoardWish.Retained? {
        if let claim = try transaction.openClaim(on: board), let payload = claim.payload,
            claim.expiresAt > now
        {
            return BoardWish.Retained(payload: payload, until: claim.expiresAt)
        }
        if let farewell = try transaction.departing(on: board)?.farewell,
            let payload = farewell.payload, farewell.until > now
        {
            return BoardWish.Retained(payload: payload, until: farewell.until)
        }
        return nil
    }

    package func wish(forPerson session: ObjectID) async throws(AuthorityError) -> PersonWish? {
        try await store.read { transaction throws(AuthorityError) in
            guard let login = try transaction.personLogin(session),
                let user = try transaction.user(login.user)
            else { return nil }
            return PersonWish(
                username: login.username, password: login.password,
                filters: try filters(of: user, transaction))
        }
    }

    func filters(
        of user: UserRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> [String] {
        let root = info.topicRoot
        if user.isAdministrator { return ["\(root)/+/data/#", "\(root)/+/status"] }
        var filters: [String] = []
        var last: BoardRecord?
        repeat {
            let boards = try transaction.boards(
                of: user.objectID, after: last, limit: Self.boardsOfLook)
            for board in boards {
                filters.append("\(root)/\(board.installation)/data/#")
                filters.append("\(root)/\(board.installation)/status")
            }
            last = boards.count < Self.boardsOfLook ? nil : boards.last
        } while last != nil
        return filters
    }

    /// One answer of a database has a bound, a person's boards have none.
    private static let boardsOfLook = 10_000

    package func chores(in line: String) async throws(AuthorityError) -> [NumberedChore] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.chores(in: line)
        }
    }

    package func linesWithChores() async throws(AuthorityError) -> [String] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.linesWithChores()
        }
    }

    /// Strikes a chore off.
    ///
    /// Where another authority has done it meanwhile, the line was not ours any more, and what
    /// we did may have come after what followed it: it is put down once more, to be done by
    /// what is wanted then.
    package func done(_ chore: NumberedChore) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            guard try !transaction.removeChore(chore.number) else { return }
            if case .say = chore.chore { return }
            try transaction.add(chore.chore)
        }
    }

    /// Asks again for the login of these: the broker was found without, or may hold what a
    /// backup of it held. A board that is up has the right password, and setting one would cut
    /// its connection.
    package func restore(
        logins boards: [InstallationID], people: [ObjectID]
    ) async throws(AuthorityError) {
        try await inSlices(boards) { board, transaction throws(AuthorityError) in
            let isUp = try transaction.status(of: board)?.up == true
            try transaction.add(.login(board, password: !isUp))
        }
        try await inSlices(people) { person, transaction throws(AuthorityError) in
            try transaction.add(.person(person, mayDoLess: true))
        }
    }

    /// Asks again for the retained messages: a broker that lost its disk has none, and one with
    /// an older disk has what was cleared since, until it expires by itself. So a fleet's many
    /// boards that have nothing to be told cost nothing.
    package func restoreRetained() async throws(AuthorityError) {
        let now = clock()
        var last: InstallationID?
        repeat {
            let boards = try await store.read { [last] transaction throws(AuthorityError) in
                try transaction.boardsWithInbox(
                    at: now, endedAfter: now - AuthorityRules.longestFarewell, after: last,
                    limit: Self.inboxesOfLook)
            }
            last = boards.count < Self.inboxesOfLook ? nil : boards.last
            try await inSlices(boards) { board, transaction throws(AuthorityError) in
                try transaction.add(.inbox(board))
            }
        } while last != nil
    }

    /// Does something to each in its turn, in transactions of a bounded size.
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

    /// A look costs a pass over the claims; a transaction keeps others waiting.
    private static let inboxesOfLook = 10_000
    private static let transactionSize = 500

    /// Every board and person that should have a client at the broker.
    package func everyLogin() async throws(AuthorityError) -> BrokerPopulation {
        try await store.read { transaction throws(AuthorityError) in
            BrokerPopulation(
                boards: try transaction.boardsWithLogin(),
                people: try transaction.sessionsWithPersonLogin())
        }
    }

    /// Keeps a board's status as the broker has it.
    package func note(
        _ status: BoardStatus, of board: InstallationID
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            let known = try transaction.board(board)
            let claim = try transaction.openClaim(on: board)
            let old = try transaction.status(of: board)
            guard known != nil || claim != nil, old != status else { return }
            try transaction.setStatus(status, of: board)
            try transaction.touch(board)
            guard known != nil else { return }
            try noteChange(from: old, to: status, of: board, transaction, at: now)
        }
    }

    /// Puts into the timeline what a new status says that the old one did not.
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

package struct BrokerPopulation: Sendable {
    package let boards: [InstallationID]
    package let people: [ObjectID]

    package init(boards: [InstallationID], people: [ObjectID]) {
        self.boards = boards
        self.people = people
    }
}
