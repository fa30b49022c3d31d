package import Sessions

/// The board and session that a record names.
package struct RecordOrigin: Hashable, Sendable {
    package let board: InstallationID
    package let session: ObjectID

    package init(board: InstallationID, session: ObjectID) {
        (self.board, self.session) = (board, session)
    }
}

/// The users who may own the records of a board and session.
package struct RecordOwners: Equatable, Sendable {
    /// The board's present owner. Nil if it was released.
    package let present: UserID?
    /// The user of the session. Nil if the store does not know the session, or if it lives on
    /// another board: a board could name such a session to write for another user.
    package let ofSession: UserID?

    package init(present: UserID?, ofSession: UserID?) {
        (self.present, self.ofSession) = (present, ofSession)
    }

    /// The owner of the records. The session decides, because a record may arrive after the board
    /// has another owner.
    package var owner: UserID? { ofSession ?? present }

    /// Whether the owner released the board, or lost it. Then the owner's records are kept only if
    /// the owner still has some of this board: a release deletes them, unless the owner wants to
    /// keep them.
    package var isFormer: Bool { owner != present }
}

extension Authority {
    /// The owner of the records of each origin, in one snapshot. An origin without an owner is
    /// absent. Nothing is cached, so a release counts at once.
    package func owners(
        of origins: Set<RecordOrigin>, keptIn data: any DataStore
    ) async throws(AuthorityError) -> [RecordOrigin: UserID] {
        guard !origins.isEmpty else { return [:] }
        let found = try await store.glance { transaction throws(AuthorityError) in
            try transaction.owners(of: Array(origins))
        }
        var owners: [RecordOrigin: UserID] = [:]
        for (origin, users) in found {
            guard let owner = users.owner else { continue }
            if users.isFormer {
                var query = RecordQuery(owner: owner, limit: 1)
                query.board = origin.board
                guard try await !data.records(query).isEmpty else { continue }
            }
            owners[origin] = owner
        }
        return owners
    }
}
