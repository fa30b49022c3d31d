package import Gate
package import Sessions

/// A use of a board that needs a right.
package enum BoardUse: Sendable {
    /// To see its state and readings.
    case see
    /// To rename it, and to see and change its session and its rules.
    case manage
    /// To release, renew and claim it, to change its labels, and to see and end its shares.
    case own
    /// To invite somebody to it.
    case invite
}

/// What a person may do with a board. No other code decides this: every route and every event asks
/// here.
package enum BoardRight: Equatable, Sendable {
    case owner
    /// As the owner, but invites nobody. The share is the one that the administrator has, if any.
    case administrator(ShareRecord?)
    case shared(ShareRecord)

    /// Nil: none. `share` is the person's share of this board, if there is one; it may have ended,
    /// or be the gift of an earlier owner.
    package init?(
        of user: UserID, isAdministrator: Bool, onBoardOf owner: UserID, _ share: ShareRecord?,
        at now: Timestamp
    ) {
        let valid = share.flatMap { share in
            share.user == user && share.owner == owner && !share.terms.hasEnded(at: now)
                ? share : nil
        }
        if owner == user {
            self = .owner
        } else if isAdministrator {
            self = .administrator(valid)
        } else if let valid {
            self = .shared(valid)
        } else {
            return nil
        }
    }

    package func permits(_ use: BoardUse) -> Bool {
        switch (self, use) {
        case (.owner, _): true
        case (.administrator, _): use != .invite
        case (.shared, .see): true
        case (.shared(let share), .manage): share.terms.right == .manage
        case (.shared, .own), (.shared, .invite): false
        }
    }

    package var share: ShareRecord? {
        switch self {
        case .owner: nil
        case .administrator(let share): share
        case .shared(let share): share
        }
    }

    /// Whether the person sees less than the owner.
    package var isShared: Bool {
        if case .shared = self { true } else { false }
    }

    /// Whether the person may see the readings of this class.
    package func shows(_ className: ClassName) -> Bool {
        if case .shared(let share) = self { share.terms.shows(className) } else { true }
    }

    /// Whether the person may see how much a board sends. Numbers tell of hidden classes, too.
    package var showsActivity: Bool {
        if case .shared(let share) = self { share.terms.classes == nil } else { true }
    }
}

/// A board that the caller may use, and the right to it.
struct PermittedBoard {
    let record: BoardRecord
    let right: BoardRight
}

extension Act {
    /// What the caller may do with a board. Nil: nothing.
    func right(to record: BoardRecord) throws(AuthorityError) -> BoardRight? {
        guard !record.released else { return nil }
        let share = rights.isRestricted || record.owner == user.objectID
            ? nil : try transaction.share(of: record.installation, with: user.objectID)
        return try right(to: record, with: share)
    }

    /// The same with the caller's share of this board, if there is one.
    func right(
        to record: BoardRecord, with share: ShareRecord?
    ) throws(AuthorityError) -> BoardRight? {
        guard !record.released else { return nil }
        let given = try share.flatMap { share throws(AuthorityError) in
            try transaction.user(share.owner)?.isEnabled == true ? share : nil
        }
        return BoardRight(
            of: user.objectID, isAdministrator: user.isAdministrator, onBoardOf: record.owner,
            given, at: now)
    }

    /// A board that the caller may use in this way. Throws 101 if the caller has no right to it,
    /// whether it exists or not; 119 if the right is too small.
    func board(
        _ id: InstallationID, to use: BoardUse
    ) throws(AuthorityError) -> PermittedBoard {
        guard let record = try transaction.board(id), let right = try right(to: record) else {
            throw .refuse(.notFound, "no such board")
        }
        guard right.permits(use) else {
            throw .refuse(.forbidden, use == .manage
                ? "you may only see this board; its owner has not given you more"
                : "only the owner of the board may do this")
        }
        return PermittedBoard(record: record, right: right)
    }

    /// A session that the caller may read, extend, limit or end: one that the caller may see, or
    /// the active session of a board that the caller manages. Any other throws 101.
    func manageable(_ id: ObjectID) throws(AuthorityError) -> SessionRecord {
        guard let record = try transaction.session(id) else {
            throw .refuse(.notFound, "no such session")
        }
        if rights.maySee(record.session, of: user.objectID) { return record }
        guard !rights.isRestricted, record.state == .active, !record.isOffBoard,
            let id = record.board, let board = try transaction.board(id),
            board.owner == record.session.user, try right(to: board)?.permits(.manage) == true
        else { throw .refuse(.notFound, "no such session") }
        return record
    }
}

extension Authority {
    /// A board as this caller may see it. Nil if the owner's user does not exist.
    func view(of board: PermittedBoard, _ act: Act) throws(AuthorityError) -> Board? {
        try view(of: board.record, act.transaction, at: act.now)?.seen(by: board.right)
    }
}
