import Sessions

/// The side of the person who has a link.
extension Authority {
    package func invitation(
        _ use: InvitationUse, by caller: Caller
    ) async throws(AuthorityError) -> InvitationView {
        let hash = try hash(of: use.secret)
        let found = try await act(.readInvitation, by: caller) { act throws(AuthorityError) in
            try find(hash, from: use.origin, act)?.view
        }
        guard let found else { throw .noInvitation }
        return found
    }

    package func accept(
        _ use: InvitationUse, by caller: Caller
    ) async throws(AuthorityError) -> InvitationView {
        let hash = try hash(of: use.secret)
        let id = try newObjectID()
        let found = try await act(.acceptInvitation, by: caller) {
            act throws(AuthorityError) -> InvitationView? in
            guard let (record, view) = try find(hash, from: use.origin, act) else { return nil }
            guard record.owner != act.user.objectID else {
                throw .refuse(.forbidden, "this board is yours already")
            }
            // One conditional statement: of two uses at once, one wins.
            guard try act.transaction.deleteInvitation(record.id) else { return nil }
            let others = try act.transaction.shares(with: act.user.objectID)
                .count { $0.board != record.board }
            guard others < ShareLimit.ofUser else {
                throw .refuse(
                    .quota, "others share \(ShareLimit.ofUser) boards with you, which is the "
                        + "limit; leave one first")
            }
            try act.transaction.save(ShareRecord(
                id: id, board: record.board, user: act.user.objectID, owner: record.owner,
                terms: record.terms, createdAt: act.now))
            try act.auditShare(
                "accepted", on: record.board,
                "\(record.id): \(record.terms.words), from \(view.owner)")
            return view
        }
        guard let found else { throw .noInvitation }
        return found
    }

    /// The invitation of a secret. Nil if none serves, which counts as a wrong one.
    ///
    /// Count and search are one transaction, so that parallel tries count, too.
    private func find(
        _ hash: [UInt8], from origin: String, _ act: Act
    ) throws(AuthorityError) -> (record: InvitationRecord, view: InvitationView)? {
        let keys = [
            ("invitation \(act.user.objectID)", ShareLimit.triesOfUser),
            ("invitation from \(CountedOrigin(origin))", ShareLimit.triesOfAddress),
        ]
        for (key, limit) in keys {
            if let wait = try wait(key, atMost: limit, act.transaction, at: act.now) {
                throw .refused(.tooMany("wrong invitations", wait: wait))
            }
        }
        if let record = try act.transaction.invitation(hash: hash), record.isOpen(at: act.now),
            let board = try act.transaction.board(record.board), !board.released,
            board.owner == record.owner,
            let owner = try act.transaction.user(record.owner), owner.isEnabled
        {
            let present = try act.right(to: board)
            let view = InvitationView(
                board: board.installation, boardName: board.name, owner: owner.username,
                terms: record.terms, present: present?.share?.terms, expiresAt: record.expiresAt)
            return (record, view)
        }
        for (key, _) in keys { try act.transaction.countFailure(key, at: act.now) }
        return nil
    }

    /// The store finds a secret by its HMAC. So the time of a search does not depend on how much of
    /// a guess is right.
    func hash(of secret: InvitationSecret) throws(AuthorityError) -> [UInt8] {
        let bytes = secret.secret.reveal()
        return try hash(of: SecretBytes(Array("postern/v1 invitation ".utf8) + bytes))
    }
}

extension AuthorityError {
    /// The same for a secret that never was, that was used, and that is over.
    static let noInvitation = refuse(
        .notFound, "this invitation does not serve any more; ask for another")
}
