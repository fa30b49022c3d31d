import AuthorityCore
import AuthorityStore
import Foundation
import GRDB
import Gate
import Sessions
import Wire

/// What the writer remembers of the tables between transactions. It is forgotten when a transaction
/// fails or deletes rows.
struct TableCache {
    var feeds: [FeedKey: Int64] = [:]
    var series: [SeriesKey: (id: Int64, writtenAt: Timestamp)] = [:]
    var seen: [InstallationID: SequenceRanges] = [:]
    /// Boards and owners without a noted release.
    var unreleased: Set<ReleaseKey> = []
    /// Feeds that have as many series as they may have.
    var fullFeeds: Set<Int64> = []

    static let limit = 100_000

    mutating func shrink() {
        let counts = [feeds.count, series.count, seen.count, unreleased.count]
        if counts.contains(where: { $0 > Self.limit }) {
            self = TableCache()
        }
    }
}

/// The tables of `data.db` within one write transaction.
final class SQLiteTables {
    let database: Database
    var cache: TableCache

    init(_ database: Database, _ cache: TableCache) {
        (self.database, self.cache) = (database, cache)
    }

    /// Runs `body` with a compiled statement.
    func with<R>(_ sql: String, _ body: (Statement) throws -> R) throws(AuthorityError) -> R {
        do {
            return try body(try database.cachedStatement(sql: sql))
        } catch {
            throw storeFailure(error)
        }
    }
}

extension Statement {
    func run(_ values: [(any DatabaseValueConvertible)?]) throws {
        setUncheckedArguments(StatementArguments(values))
        try execute()
    }

    func first(_ values: [(any DatabaseValueConvertible)?]) throws -> Row? {
        setUncheckedArguments(StatementArguments(values))
        return try Row.fetchOne(self)
    }
}

extension SQLiteTables: DataTables {
    func feeds(_ keys: Set<FeedKey>) throws(AuthorityError) -> [FeedKey: Int64] {
        var found: [FeedKey: Int64] = [:]
        for key in keys {
            guard let id = if let known = cache.feeds[key] { known } else { try feed(key) }
            else { continue }
            (found[key], cache.feeds[key]) = (id, id)
        }
        return found
    }

    /// Nil if the board has too many classes.
    private func feed(_ key: FeedKey) throws(AuthorityError) -> Int64? {
        if let known = try find(key) { return known }
        let count: Int64 = try with(
            "SELECT count(*) AS n FROM feeds WHERE owner = ? AND board = ?"
        ) { statement in
            try statement.first([key.owner.description, key.board.description])?["n"] ?? Int64(0)
        }
        guard count < KeepCount.classLimit else { return nil }
        return try with("INSERT INTO feeds (owner, board, class) VALUES (?, ?, ?)") { statement in
            try statement.run([
                key.owner.description, key.board.description, key.className.description,
            ])
            return database.lastInsertedRowID
        }
    }

    func find(_ key: FeedKey) throws(AuthorityError) -> Int64? {
        try with(
            "SELECT id FROM feeds WHERE owner = ? AND board = ? AND class = ?"
        ) { statement in
            try statement.first([
                key.owner.description, key.board.description, key.className.description,
            ])?["id"]
        }
    }

    func seen(
        _ boards: Set<InstallationID>
    ) throws(AuthorityError) -> [InstallationID: SequenceRanges] {
        var found: [InstallationID: SequenceRanges] = [:]
        for board in boards {
            if let known = cache.seen[board] {
                found[board] = known
                continue
            }
            let row = try with("SELECT ranges FROM seen WHERE board = ?") { statement in
                try statement.first([board.description])
            }
            guard let row else { continue }
            guard let ranges = SequenceRanges(bytes: Array(row["ranges"] as Data)) else {
                throw damagedData("ranges")
            }
            found[board] = ranges
        }
        return found
    }

    func save(_ seen: [InstallationID: SequenceRanges]) throws(AuthorityError) {
        try with("INSERT OR REPLACE INTO seen (board, ranges) VALUES (?, ?)") { statement in
            for (board, ranges) in seen {
                try statement.run([board.description, Data(ranges.bytes)])
            }
        }
        cache.seen.merge(seen) { _, new in new }
    }

    func insert(_ rows: [RecordRow]) throws(AuthorityError) {
        try with("""
            INSERT OR IGNORE INTO records (id, feed, kind, seq, wait, app, object, payload)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """) { statement in
            for row in rows {
                let record = row.record
                let wait = record.receivedAt.milliseconds - record.writtenAt.milliseconds
                let (app, payload) = (record.app.description, Data(record.payload))
                var attempt: Int64 = 0
                repeat {
                    try statement.run([
                        RecordRowID.candidate(record, feed: row.feed, attempt: attempt),
                        row.feed,
                        row.kind.rawValue, record.sequence, wait, app,
                        record.path.record?.description, payload,
                    ])
                    attempt += 1
                } while database.changesCount == 0
            }
        }
        try with("UPDATE totals SET number = number + ? WHERE name = 'records'") { statement in
            try statement.run([rows.count])
        }
    }

    func series(_ keys: Set<SeriesKey>) throws(AuthorityError) -> [SeriesKey: Int64] {
        var found: [SeriesKey: Int64] = [:]
        for key in keys {
            if let known = cache.series[key] {
                found[key] = known.id
            } else if let new = try oneSeries(key) {
                found[key] = new.id
                cache.series[key] = new
            }
        }
        return found
    }

    private func oneSeries(
        _ key: SeriesKey
    ) throws(AuthorityError) -> (id: Int64, writtenAt: Timestamp)? {
        let object = key.record?.description ?? ""
        let known = try with("""
            SELECT id, written_at FROM series WHERE feed = ? AND object = ? AND field = ?
            """) { statement in try statement.first([key.feed, object, key.field]) }
        if let known { return (known["id"], Timestamp(milliseconds: known["written_at"])) }
        guard !cache.fullFeeds.contains(key.feed) else { return nil }
        let count: Int = try with(
            "SELECT count(*) AS n FROM series WHERE feed = ?"
        ) { statement in try statement.first([key.feed])?["n"] ?? 0 }
        guard count < SeriesRules.limit else {
            cache.fullFeeds.insert(key.feed)
            return nil
        }
        return try with("""
            INSERT INTO series (feed, object, field, written_at, received_at)
            VALUES (?, ?, ?, 0, 0)
            """) { statement in
            try statement.run([key.feed, object, key.field])
            return (database.lastInsertedRowID, Timestamp(milliseconds: 0))
        }
    }

    func add(_ rollups: [RollupKey: Rollup]) throws(AuthorityError) {
        try with("""
            INSERT INTO rollups (series, minute, least, greatest, sum, count, late)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (series, minute) DO UPDATE SET
                least = min(least, excluded.least), greatest = max(greatest, excluded.greatest),
                sum = sum + excluded.sum, count = count + excluded.count,
                late = max(late, excluded.late)
            """) { statement in
            for (key, rollup) in rollups {
                try statement.run([
                    key.series, key.minute, rollup.least, rollup.greatest, rollup.sum,
                    rollup.count, rollup.isLate,
                ])
            }
        }
    }

    func setNewest(_ values: [Int64: NewestOfSeries]) throws(AuthorityError) {
        try with("""
            UPDATE series SET number = ?, text = ?, written_at = ?, received_at = ?
            WHERE id = ? AND written_at <= ?3
            """) { statement in
            for (id, newest) in values {
                let (number, text): (Double?, String?) = switch newest.value {
                case .number(let number): (number, nil)
                case .text(let text): (nil, text)
                }
                try statement.run([
                    number, text, newest.writtenAt.milliseconds, newest.receivedAt.milliseconds,
                    id,
                ])
            }
        }
    }
}

/// The error for a stored value that the schema does not allow: something else changed the file.
func damagedData(_ column: String) -> AuthorityError {
    .failed(layer: "store", text: "the column \(column) of the data is damaged")
}
