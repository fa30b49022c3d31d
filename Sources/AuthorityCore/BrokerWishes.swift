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
        return try transaction.boards(of: user.objectID).filter { !$0.released }.flatMap {
            ["\(root)/\($0.installation)/data/#", "\(root)/\($0.installation)/status"]
        }
    }

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

    package func done(_ chore: NumberedChore) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            try transaction.removeChore(chore.number)
        }
    }

    /// Asks again for the login of these: the broker was found without, or may hold what a
    /// backup of it held. A board that is up has the right password, and setting one would cut
    /// its connection.
    package func restore(
        logins boards: [InstallationID], people: [ObjectID]
    ) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            for board in boards {
                let isUp = try transaction.status(of: board)?.up == true
                try transaction.add(.login(board, password: !isUp))
            }
            for person in people { try transaction.add(.person(person, mayDoLess: true)) }
        }
    }

    /// Asks again for every retained message: a broker that lost its disk has none, and one
    /// with an older disk has what was cleared since.
    package func restoreRetained() async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            for board in try transaction.boardsWithInbox() {
                try transaction.add(.inbox(board))
            }
        }
    }

    /// Every board and person that should have a client at the broker.
    package func everyLogin() async throws(AuthorityError) -> BrokerPopulation {
        try await store.read { transaction throws(AuthorityError) in
            BrokerPopulation(
                boards: try transaction.boardsWithLogin(),
                people: try transaction.personLogins(of: nil).map(\.session))
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
