package import Sessions
import Wire

/// Boards and sessions, as their owners see and end them.
extension Authority {
    package func boards(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [Board] {
        let owner = try scope(of: caller, everyone: everyone)
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            var views: [Board] = []
            for board in try transaction.boards(of: owner) where !board.released {
                guard let user = try transaction.user(board.owner) else { continue }
                let active = try transaction.activeSession(on: board.installation)
                views.append(Board(
                    installation: board.installation, name: board.name, owner: user.view,
                    deviceKey: try keyID(of: board.deviceKey),
                    session: try active.map { record throws(AuthorityError) in
                        try view(of: record, transaction, at: now)
                    },
                    lastSeen: active?.lastSeen ?? board.lastSeen,
                    status: try transaction.status(of: board.installation)))
            }
            return views
        }
    }

    package func release(
        _ board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) {
        try requireUnrestricted(caller)
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            guard var record = try transaction.board(board), !record.released,
                record.owner == caller.user.objectID || caller.user.isAdministrator
            else { throw .refuse(.notFound, "no such board") }
            record.released = true
            try transaction.save(record)
            if let active = try transaction.activeSession(on: board) {
                try endAndTell(
                    active, reason: UnavailableReason.revoked.rawValue,
                    actor: caller.user.username, transaction, at: now)
            }
            try settlePeople(of: record.owner, transaction)
            try audit(
                "board.released", caller.user.username, board, nil, record.name, transaction,
                at: now)
        }
        await settleAll(of: board)
    }

    package func sessions(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [SessionView] {
        let owner = try scope(of: caller, everyone: everyone)
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            let records = try transaction.sessions(of: owner)
            var views: [SessionView] = []
            for record in records {
                views.append(try view(of: record, transaction, at: now))
            }
            return views
        }
    }

    package func session(
        _ id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            try view(of: try own(id, caller, transaction), transaction, at: now)
        }
    }

    package func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) {
        try requireUnrestricted(caller)
        let now = clock()
        let board = try await store.transact { transaction throws(AuthorityError) in
            let record = try own(id, caller, transaction)
            switch record.state {
            case .ended:
                break
            case .active:
                try endAndTell(
                    record, reason: UnavailableReason.revoked.rawValue,
                    actor: caller.user.username, transaction, at: now)
            case .pending:
                try cancelClaim(of: record, caller, transaction, at: now)
            }
            return record.session.installationID
        }
        if let board { await settleAll(of: board) } else { courier.nudge(id.description) }
    }

    private func cancelClaim(
        of record: SessionRecord, _ caller: Caller, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        guard let board = record.session.installationID,
            let claim = try transaction.openClaim(on: board), claim.session == record.id
        else { return }
        try close(
            claim, as: .cancelled, detail: "", actor: caller.user.username, transaction,
            at: now)
    }

    /// Tells the broker at once if it can be told. What was decided stands either way: the
    /// chores are in the store.
    private func settleAll(of board: InstallationID) async {
        do throws(AuthorityError) {
            try await courier.settle(board.description)
        } catch {
            courier.nudge(board.description)
        }
    }

    /// The owner to ask for; nil is everyone's.
    private func scope(
        of caller: Caller, everyone: Bool
    ) throws(AuthorityError) -> UserID? {
        try requireUnrestricted(caller)
        guard everyone else { return caller.user.objectID }
        try requireAdministrator(caller)
        return nil
    }

    private func own(
        _ id: ObjectID, _ caller: Caller, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> SessionRecord {
        guard let record = try transaction.session(id),
            record.session.user == caller.user.objectID || caller.user.isAdministrator
        else { throw .refuse(.notFound, "no such session") }
        return record
    }

    private func view(
        of record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> SessionView {
        let user = try transaction.user(record.session.user)
        let board = try record.session.installationID.flatMap { id throws(AuthorityError) in
            try transaction.board(id)?.name
        }
        return SessionView(
            session: record.session, username: user?.username ?? "", state: state(record, now),
            lastSeen: record.lastSeen, boardName: board)
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

extension Authority: AuthorityFrontend {}
