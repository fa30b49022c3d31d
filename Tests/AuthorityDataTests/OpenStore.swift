import AuthorityCore
import Gate
import Sessions

/// A store with its place, which goes with it.
final class OpenStore: DataStore {
    private let store: any DataStore
    private let place: any Sendable

    init(_ store: any DataStore, _ place: any Sendable) {
        (self.store, self.place) = (store, place)
    }

    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount {
        try await store.keep(records)
    }

    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        try await store.records(query)
    }

    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        try await store.objects(query)
    }

    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] {
        try await store.series(query)
    }

    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] {
        try await store.newest(of: board, owner: owner, limit: limit)
    }

    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] {
        try await store.boards(of: owner)
    }

    func delete(_ release: DataRelease) async throws(AuthorityError) {
        try await store.delete(release)
    }

    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease] {
        try await store.openReleases(until: time)
    }

    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError) {
        try await store.settle(release, ownerHasBoard: ownerHasBoard)
    }

    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount {
        try await store.trim(bounds, now: now)
    }

    func usage() async throws(AuthorityError) -> DataUsage { try await store.usage() }

    func close() async throws(AuthorityError) { try await store.close() }
}
