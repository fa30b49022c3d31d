import Gate
package import Sessions

/// Lists and ends shares, and makes invitations.
extension Authority {
    package func invite(
        to board: InstallationID, _ terms: ShareTerms, lasting: Duration?, by caller: Caller
    ) async throws(AuthorityError) -> NewInvitation {
        let secret = InvitationSecret(
            random: try cryptography.random(InvitationSecret.randomCount))
        let id = try newObjectID()
        let hash = try hash(of: secret)
        return try await act(.invite, by: caller) { act throws(AuthorityError) in
            let board = try act.board(board, to: .invite).record
            let record = InvitationRecord(
                id: id, hash: hash, board: board.installation, owner: board.owner,
                terms: try act.accepted(terms, lasting), createdAt: act.now,
                expiresAt: act.now + ShareLimit.invitation)
            try act.requireRoom(on: board.installation)
            try act.transaction.insert(record)
            try act.auditShare("invited", on: board.installation, "\(id): \(record.terms.words)")
            return NewInvitation(
                id: id, url: rules.info.publicURL + "/#/invitation/" + secret.reveal(),
                expiresAt: record.expiresAt)
        }
    }

    package func shares(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardShares {
        try await look(.shares, by: caller) { act throws(AuthorityError) in
            _ = try act.board(board, to: .own)
            var entries: [BoardShares.Entry] = []
            for share in try act.transaction.shares(of: board)
            where !share.terms.hasEnded(at: act.now) {
                let user = try act.transaction.user(share.user)
                entries.append(.init(
                    share: share, username: user?.username ?? "\(share.user)"))
            }
            return BoardShares(
                shares: entries, invitations: try act.openInvitations(to: board))
        }
    }

    package func endShare(
        _ id: ObjectID, of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) {
        try await act(.endShare, by: caller) { act throws(AuthorityError) in
            let right = try act.board(board, to: .see).right
            guard let share = try act.transaction.shares(of: board).first(where: { $0.id == id }),
                right.permits(.own) || share.user == act.user.objectID
            else { throw .refuse(.notFound, "no such share") }
            try end(share, actor: act.user.username, act.transaction, at: act.now)
        }
    }

    package func endInvitation(
        _ id: ObjectID, to board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) {
        try await act(.endShare, by: caller) { act throws(AuthorityError) in
            _ = try act.board(board, to: .own)
            guard try act.openInvitations(to: board).contains(where: { $0.id == id }),
                try act.transaction.deleteInvitation(id)
            else { throw .refuse(.notFound, "no such invitation") }
            try act.auditShare("removed", on: board, "\(id): an invitation")
        }
    }

    /// Ends a share. Open event streams read this in the store: see `Authority.streamRights`.
    private func end(
        _ share: ShareRecord, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        guard try transaction.deleteShare(share.id) else { return }
        let user = try transaction.user(share.user)?.username ?? "\(share.user)"
        try audit("share.removed", actor, share.board, nil, user, transaction, at: now)
    }

    /// Ends every share and invitation of a board that loses its owner.
    func endShares(
        of board: InstallationID, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        for share in try transaction.shares(of: board) {
            try end(share, actor: actor, transaction, at: now)
        }
        for invitation in try transaction.invitations(to: board)
        where try transaction.deleteInvitation(invitation.id) {
            try audit(
                "share.removed", actor, board, nil, "\(invitation.id): an invitation", transaction,
                at: now)
        }
    }

    /// Ends what others have shared with a user.
    func endShares(
        with user: UserID, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        for share in try transaction.shares(with: user) {
            try end(share, actor: actor, transaction, at: now)
        }
    }

    /// Deletes shares whose time has passed. They give nothing from that time on.
    func endDueShares(
        _ transaction: any AuthorityTransaction, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let due = try transaction.shares(endedBy: now, limit: limit)
        for share in due { try end(share, actor: "authority", transaction, at: now) }
        return due.count
    }

    package func sharedBoards(
        by caller: Caller
    ) async throws(AuthorityError) -> [ShareRecord] {
        guard !caller.isMaster else { return [] }
        return try await look(.ownBoards, by: caller, nothing: []) { act throws(AuthorityError) in
            try act.sharedBoards().compactMap(\.right.share)
        }
    }
}

extension Act {
    /// The boards that others share with the caller, at most `ShareLimit.ofUser`.
    func sharedBoards() throws(AuthorityError) -> [PermittedBoard] {
        guard !rights.isRestricted else { return [] }
        var boards: [PermittedBoard] = []
        for share in try transaction.shares(with: user.objectID) {
            guard let record = try transaction.board(share.board),
                let right = try right(to: record, with: share), right.share != nil
            else { continue }
            boards.append(PermittedBoard(record: record, right: right))
        }
        return boards
    }

    func openInvitations(
        to board: InstallationID
    ) throws(AuthorityError) -> [InvitationRecord] {
        try transaction.invitations(to: board).filter { $0.isOpen(at: now) }
    }

    fileprivate func requireRoom(on board: InstallationID) throws(AuthorityError) {
        let shares = try transaction.shares(of: board).count { !$0.terms.hasEnded(at: now) }
        guard try shares + openInvitations(to: board).count < ShareLimit.ofBoard else {
            throw .refuse(
                .quota, "this board has \(ShareLimit.ofBoard) shares and open invitations, which "
                    + "is the limit; remove one first")
        }
    }

    /// The terms, if the owner may give them.
    fileprivate func accepted(
        _ terms: ShareTerms, _ lasting: Duration?
    ) throws(AuthorityError) -> ShareTerms {
        var seen: Set<String> = []
        let classes = terms.classes?.filter { seen.insert($0.description).inserted }
        if let classes {
            guard (1...ShareLimit.classes).contains(classes.count),
                classes.allSatisfy({ !$0.isReserved })
            else {
                throw .refuse(
                    .validation, "a share names 1 to \(ShareLimit.classes) classes of data; "
                        + "without names it shows all")
            }
        }
        let until = terms.until ?? lasting.map { now + $0 }
        if let until, until <= now || until > now + ShareLimit.life {
            throw .refuse(
                .validation, "a share ends later than now, and within 10 years from now")
        }
        return ShareTerms(right: terms.right, classes: classes, until: until)
    }

    func auditShare(
        _ event: String, on board: InstallationID, _ detail: String
    ) throws(AuthorityError) {
        try authority.audit(
            "share.\(event)", user.username, board, nil, detail, transaction, at: now)
    }
}
