import Gate
package import Sessions

/// A board and those whose place it took: one board for people who read its data.
package struct Lineage: Sendable {
    /// The most boards that one board replaces: each costs a read of its own.
    static let limit = 16

    package let owner: UserID
    /// The present board first.
    package let boards: [InstallationID]

    package init(owner: UserID, boards: [InstallationID]) {
        (self.owner, self.boards) = (owner, boards)
    }
}

extension BoardDetail {
    package var lineage: Lineage {
        Lineage(
            owner: board.owner.objectID,
            boards: [board.installation] + replaced.map(\.installation))
    }
}

extension DataStore {
    /// The newest value of each field, whichever of the boards sent it; at most
    /// `NewestValue.limit`.
    package func newest(of lineage: Lineage) async throws(AuthorityError) -> [NewestValue] {
        var values: [NewestValue] = []
        for board in lineage.boards {
            values += try await newest(of: board, owner: lineage.owner)
        }
        guard lineage.boards.count > 1 else { return values }
        values.sort { $0.writtenAt > $1.writtenAt }
        var seen: Set<FieldPlace> = []
        values = values.filter { seen.insert(FieldPlace($0)).inserted }
        return Array(values.prefix(NewestValue.limit))
    }

    /// The buckets of one field over all boards. `query.board` is replaced.
    package func series(
        _ query: SeriesQuery, of lineage: Lineage
    ) async throws(AuthorityError) -> [SeriesBucket] {
        guard lineage.boards.count > 1 else { return try await series(query) }
        var merged: [Timestamp: SeriesBucket] = [:]
        for board in lineage.boards {
            var query = query
            query.board = board
            for bucket in try await series(query) {
                merged[bucket.start] = merged[bucket.start]?.joined(with: bucket) ?? bucket
            }
        }
        return merged.values.sorted { $0.start < $1.start }
    }
}

/// The place of a field among all that a board sends.
private struct FieldPlace: Hashable {
    let className: String
    let record: String?
    let field: String

    init(_ value: NewestValue) {
        className = value.className.description
        (record, field) = (value.record?.description, value.field)
    }
}

extension SeriesBucket {
    /// The numbers of two boards in the same span of time.
    fileprivate func joined(with other: SeriesBucket) -> SeriesBucket {
        SeriesBucket(
            start: start, least: min(least, other.least), greatest: max(greatest, other.greatest),
            sum: sum + other.sum, count: count + other.count, isLate: isLate || other.isLate)
    }
}
