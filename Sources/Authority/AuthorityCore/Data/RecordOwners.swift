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
    /// The session of the records. Nil if the store does not know it, or if it lives on another
    /// board: a board could name such a session to write for another user.
    package let session: RecordSession?

    package init(present: UserID?, session: RecordSession?) {
        (self.present, self.session) = (present, session)
    }

    /// The owner of the records. The session decides, because a record may arrive after the board
    /// has another owner.
    package var owner: UserID? { session?.user ?? present }

    /// Whether the owner released the board. Then the owner's records are kept only if the owner
    /// still has some of this board: a release deletes them, unless the owner wants to keep them.
    package var isFormer: Bool { owner != present }

    /// How long after the end of a session its records may arrive. The broker queues them for a
    /// day while no authority reads.
    package static let latestArrival = Duration.seconds(2 * 86_400)

    /// The record with its owner; nil if it has none.
    ///
    /// Somebody else may have the board of a former owner, and can name the old session. So its
    /// records must be written before the session ended, and arrive soon after.
    package func owned(_ record: DataRecord) -> OwnedRecord? {
        guard let owner else { return nil }
        guard isFormer else { return OwnedRecord(owner: owner, record: record) }
        guard let end = session?.endedAt, record.writtenAt <= end,
            record.receivedAt <= end + Self.latestArrival
        else { return nil }
        return OwnedRecord(owner: owner, record: record, isOfFormerOwner: true)
    }
}

/// A session as the owner of records.
package struct RecordSession: Equatable, Sendable {
    package let user: UserID
    /// Nil while it is pending or active.
    package let endedAt: Timestamp?

    package init(user: UserID, endedAt: Timestamp?) {
        (self.user, self.endedAt) = (user, endedAt)
    }
}

extension Authority {
    /// The owners of the records of each origin, in one snapshot. An origin without an owner is
    /// absent. Nothing is cached, so a release counts at once.
    package func owners(
        of origins: Set<RecordOrigin>, keptIn data: any DataStore
    ) async throws(AuthorityError) -> [RecordOrigin: RecordOwners] {
        guard !origins.isEmpty else { return [:] }
        let found = try await store.glance { transaction throws(AuthorityError) in
            try transaction.owners(of: Array(origins))
        }
        var owners: [RecordOrigin: RecordOwners] = [:]
        for (origin, users) in found {
            guard let owner = users.owner else { continue }
            if users.isFormer {
                var query = RecordQuery(owner: owner, limit: 1)
                query.board = origin.board
                guard try await !data.records(query).isEmpty else { continue }
            }
            owners[origin] = users
        }
        return owners
    }
}
