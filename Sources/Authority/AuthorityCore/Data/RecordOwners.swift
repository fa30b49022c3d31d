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
    package let ownedSince: Timestamp
    /// The session of the records. Nil if the store does not know it, or if it lives on another
    /// board: a board could name such a session to write for another user.
    package let session: RecordSession?

    package init(present: UserID?, ownedSince: Timestamp, session: RecordSession?) {
        (self.present, self.ownedSince, self.session) = (present, ownedSince, session)
    }

    /// How long after the end of a session its records may arrive. The broker queues them for a
    /// day while no authority reads.
    package static let latestArrival = Duration.seconds(2 * 86_400)

    /// The record with its owner; nil if it has none. The session decides, because a record may
    /// arrive after the board has another owner.
    ///
    /// Somebody else may have the board of a former owner, and can name the old session. So its
    /// records must be written before the session ended, and arrive soon after. The store keeps
    /// them only if the release left the board's data with its owner: see `DataRelease`.
    package func owned(_ record: DataRecord) -> OwnedRecord? {
        guard let session, session.user != present else {
            return present.map { OwnedRecord(owner: $0, record: record, since: ownedSince) }
        }
        guard let end = session.endedAt, record.writtenAt <= end,
            record.receivedAt <= end + Self.latestArrival
        else { return nil }
        return OwnedRecord(
            owner: session.user, record: record, since: session.createdAt, isOfFormerOwner: true)
    }
}

/// A session as the owner of records.
package struct RecordSession: Equatable, Sendable {
    package let user: UserID
    package let createdAt: Timestamp
    /// Nil while it is pending or active.
    package let endedAt: Timestamp?

    package init(user: UserID, createdAt: Timestamp, endedAt: Timestamp?) {
        (self.user, self.createdAt, self.endedAt) = (user, createdAt, endedAt)
    }
}

extension Authority {
    /// The owners of the records of each origin, in one snapshot. An origin of an unknown board is
    /// absent. Nothing is cached, so a release counts at once.
    package func recordOwners(
        of origins: Set<RecordOrigin>
    ) async throws(AuthorityError) -> [RecordOrigin: RecordOwners] {
        guard !origins.isEmpty else { return [:] }
        return try await store.glance { transaction throws(AuthorityError) in
            try transaction.owners(of: Array(origins))
        }
    }
}
