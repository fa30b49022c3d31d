import AuthorityCore
import Gate
import Sessions
import Synchronization

/// Records in memory, to test what fills the store. It reads only what those parts read.
final class MemoryDataStore: DataStore {
    private struct Key: Hashable {
        let board: InstallationID
        let sequence: Int64
    }

    private struct State {
        var records: [Key: OwnedRecord] = [:]
        var releases: [DataRelease] = []
        var isAway = false
        var tries = 0
        var batches: [Int] = []
    }

    private let state = Mutex(State())

    /// While it is away, all that is asked of it fails.
    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    var records: [OwnedRecord] { state.withLock { Array($0.records.values) } }
    /// How often records were given to it, also while it was away.
    var tries: Int { state.withLock { $0.tries } }
    /// The size of each batch that was stored.
    var batches: [Int] { state.withLock { $0.batches } }

    func records(of owner: UserID) -> [DataRecord] {
        records.filter { $0.owner == owner }.map(\.record).sorted { $0.sequence < $1.sequence }
    }

    private func asked<R>(_ body: (inout State) -> R) throws(AuthorityError) -> R {
        let answer: R? = state.withLock { $0.isAway ? nil : body(&$0) }
        guard let answer else { throw .failed(layer: "data", text: "the store is away") }
        return answer
    }

    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount {
        state.withLock { $0.tries += 1 }
        return try asked { state in
            var count = KeepCount()
            for owned in records {
                guard !state.releases.contains(where: { release in
                    release.board == owned.record.board && release.owner == owned.owner
                        && owned.since <= release.at
                }) else {
                    count.released += 1
                    continue
                }
                let key = Key(board: owned.record.board, sequence: owned.record.sequence)
                if state.records[key] == nil { count.stored += 1 } else { count.repeated += 1 }
                if state.records[key] == nil { state.records[key] = owned }
            }
            state.batches.append(records.count)
            return count
        }
    }

    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        try asked { state in
            let found = state.records.values.filter { owned in
                owned.owner == query.owner
                    && (query.board.map { owned.record.board == $0 } ?? true)
            }
            return Array(found.map(\.record).sorted { $0.sequence < $1.sequence }
                .prefix(query.limit))
        }
    }

    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        ObjectPage(objects: [], count: nil, isPartial: false)
    }

    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] { [] }

    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] { [] }

    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] {
        try asked { state in
            let own = state.records.values.filter { $0.owner == owner }.map(\.record.board)
            return Set(own).sorted { "\($0)" < "\($1)" }
        }
    }

    func delete(_ release: DataRelease) async throws(AuthorityError) {
        try asked { state in
            state.releases.append(release)
            state.records = state.records.filter { key, owned in
                key.board != release.board || owned.owner != release.owner
            }
        }
    }

    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease] {
        try asked { state in state.releases.filter { $0.at <= time } }
    }

    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError) {
        try asked { state in if ownerHasBoard { state.releases.removeAll { $0 == release } } }
    }

    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount {
        try asked { state in
            let old = state.records.filter { $0.value.record.writtenAt <= now - bounds.keep }
            for key in old.keys { state.records[key] = nil }
            return TrimCount(old: old.count)
        }
    }

    func usage() async throws(AuthorityError) -> DataUsage {
        try asked { state in
            DataUsage(
                records: Int64(state.records.count), bytes: 0,
                oldest: state.records.values.map(\.record.writtenAt).min())
        }
    }

    func close() async throws(AuthorityError) {}
}
