package import Sessions
import Wire

/// Lists and ends boards and sessions for their owners.
extension Authority {
    /// Boards sorted by name, at most 10,000.
    package func boards(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [Board] {
        let deed: CallKind = everyone ? .everyBoard : .ownBoards
        return try await look(deed, by: caller, nothing: []) { act throws(AuthorityError) in
            var views: [Board] = []
            let owner = everyone ? nil : act.user.objectID
            let boards = try act.transaction.boards(
                of: owner, after: nil, limit: Self.listedBoards)
            for board in boards {
                guard let found = try view(of: board, act.transaction, at: act.now) else {
                    continue
                }
                views.append(found)
            }
            guard !everyone else { return views }
            let shared = try act.sharedBoards()
            guard !shared.isEmpty else { return views }
            for board in shared {
                if let view = try view(of: board, act) { views.append(view) }
            }
            return views.sorted {
                ($0.name, $0.installation.description) < ($1.name, $1.installation.description)
            }
        }
    }

    private static let listedBoards = 10_000

    /// The number of boards with a session, counted up to `limit`.
    package func boardsInSession(atMost limit: Int) async throws(AuthorityError) -> Int {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.boardsInSession(atMost: limit)
        }
    }

    /// A board as its owner sees it. Nil if the owner's user does not exist.
    func view(
        of board: BoardRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Board? {
        guard let user = try transaction.user(board.owner) else { return nil }
        let active = try transaction.activeSession(on: board.installation)
        let told = try transaction.report(of: board.installation)
        let ended = try ended(on: board.installation, after: active, transaction, at: now)
        let open = ended == nil ? nil : try transaction.openClaim(on: board.installation)
        return Board(
            installation: board.installation, name: board.name, owner: user.view,
            deviceKey: try keyID(of: board.deviceKey),
            session: try active.map { record throws(AuthorityError) in
                try view(of: record, transaction, at: now)
            },
            lastSeen: active?.lastSeen ?? board.lastSeen,
            status: try transaction.status(of: board.installation),
            scope: try active?.scope?.document(), report: told?.report, reportedAt: told?.since,
            ownedSince: board.ownedSince,
            sessionEnd: ended.map { $0.endReason ?? UnavailableReason.expired.rawValue },
            isRenewable: open == nil && ended.map { $0.isRenewable || $0.state == .active } == true,
            renewal: open.flatMap { $0.renews == nil ? nil : $0.view(at: now) },
            warning: active?.outlook(under: rules.lifetimes)?.warning(at: now),
            labels: board.labels)
    }

    /// A board's session that is over. `active` may have passed a limit since the last sweep.
    private func ended(
        on board: InstallationID, after active: SessionRecord?,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> SessionRecord? {
        guard let active else { return try transaction.lastEnded(on: board) }
        return active.hasExpired(at: now, under: rules.lifetimes) ? active : nil
    }

    @discardableResult
    package func release(
        _ board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        try await act(.release, by: caller) { act throws(AuthorityError) in
            var record = try act.board(board, to: .own).record
            record.released = true
            record.labels = []
            try act.transaction.save(record)
            try endShares(
                of: board, actor: act.user.username, act.transaction, at: act.now)
            try act.transaction.forgetReport(of: board)
            try act.transaction.keep(nil, of: board)
            try act.transaction.deleteCommands(of: board)
            if let active = try act.transaction.activeSession(on: board) {
                try endAndTell(
                    active, reason: UnavailableReason.revoked.rawValue,
                    actor: act.user.username, act.transaction, at: act.now)
            } else if let ended = try act.transaction.departing(on: board), ended.isRenewable {
                try withdraw(ended, actor: act.user.username, act.transaction, at: act.now)
            }
            try addReaderJobs(of: record.owner, on: board, lost: true, act.transaction)
            try note(
                .released, on: board, nil, "by \(act.user.username)", act.transaction,
                at: act.now)
            try audit(
                "board.released", act.user.username, board, nil, record.name, act.transaction,
                at: act.now)
        }
        return await runJobs(of: board)
    }

    package func dataReleases(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [DataRelease] {
        try await look(.release, by: caller) { act throws(AuthorityError) in
            let owner = try act.board(board, to: .own).record.owner
            let replaced = try act.transaction.replaced(by: board).map(\.installation)
            return ([board] + replaced).map { DataRelease(board: $0, owner: owner, at: act.now) }
        }
    }

    package func sessions(
        _ slice: ListSlice, by caller: Caller, everyone: Bool, withEnded: Bool
    ) async throws(AuthorityError) -> [SessionView] {
        let deed: CallKind = everyone ? .everySession : .ownSessions
        return try await look(deed, by: caller) { act throws(AuthorityError) in
            let owner = everyone ? nil : act.user.objectID
            var views: [SessionView] = []
            // `CallerRights.maySee` has the same rule.
            let choice: SessionChoice = switch (act.rights.isRestricted, withEnded) {
            case (true, true): .restricted
            case (true, false): .restrictedNotEnded
            case (false, true): .current
            case (false, false): .notEnded
            }
            for record in try act.transaction.sessions(of: owner, choice, slice) {
                views.append(try view(of: record, act.transaction, at: act.now))
            }
            return views
        }
    }

    package func session(
        _ id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try await look(.session, by: caller) { act throws(AuthorityError) in
            try view(of: try act.manageable(id), act.transaction, at: act.now)
        }
    }

    @discardableResult
    package func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> Bool {
        let board = try await act(.revoke, by: caller) { act throws(AuthorityError) in
            let record = try act.manageable(id)
            switch record.state {
            case .ended:
                guard record.isRenewable else { break }
                try withdraw(record, actor: act.user.username, act.transaction, at: act.now)
            case .active:
                try endAndTell(
                    record, reason: UnavailableReason.revoked.rawValue,
                    actor: act.user.username, act.transaction, at: act.now)
            case .pending:
                try cancelClaim(
                    of: record, actor: act.user.username, act.transaction, at: act.now)
            }
            return record.board
        }
        guard let board else { return true }
        return await runJobs(of: board)
    }

    /// Runs the board's broker jobs now. Returns false if that fails, or if the broker does not
    /// confirm them in time. The decision stays valid: the jobs are in the store and are retried.
    func runJobs(of board: InstallationID) async -> Bool {
        await worker.deliver(board.description)
    }

    /// A session as its owner sees it. It contains no token.
    func view(
        of record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> SessionView {
        let user = try transaction.user(record.session.user)
        let board = try record.board.flatMap { id throws(AuthorityError) in
            try transaction.board(id)?.name
        }
        let family = try record.family.flatMap { id throws(AuthorityError) in
            try transaction.family(id)
        }
        return SessionView(
            session: record.session, username: user?.username ?? "", state: state(record, now),
            lastSeen: record.lastSeen, boardName: board, generation: family?.generation,
            outlook: record.outlook(under: rules.lifetimes),
            latestEnd: latestEnd(of: record, at: now),
            scope: try record.scope?.document(),
            isScopePending: record.state == .active && record.scopeNotice != nil)
    }

    private func state(_ record: SessionRecord, _ now: Timestamp) -> SessionView.State {
        switch record.state {
        case .ended:
            record.endReason == UnavailableReason.expired.rawValue ? .expired : .revoked
        case .pending, .active:
            record.hasExpired(at: now, under: rules.lifetimes)
                ? .expired : (record.state == .active ? .active : .pending)
        }
    }
}
