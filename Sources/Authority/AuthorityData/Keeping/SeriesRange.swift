import AuthorityCore
import Sessions

/// How a series is read: from the records of a short range, or from the minutes.
struct SeriesRange {
    /// The most buckets of an answer.
    static let limit = 20_000
    /// The most records that are read for an answer. With more, the minutes are read.
    static let exactLimit: Int64 = 20_000
    private static let exactSpan: Int64 = 2 * 3_600_000

    let since: Int64
    let until: Int64
    /// In milliseconds.
    let step: Int64

    init(_ query: SeriesQuery) {
        since = query.since.milliseconds
        until = query.until.milliseconds
        step = max(query.step.milliseconds, 1)
    }

    /// Whether to read the records.
    var isExact: Bool { step < 60_000 || until - since <= Self.exactSpan }
}

/// Buckets that are made from payloads.
struct ExactBuckets {
    let field: String
    /// In milliseconds.
    let step: Int64
    private var rollups: [Int64: Rollup] = [:]

    init(field: String, step: Int64) { (self.field, self.step) = (field, step) }

    mutating func add(_ payload: [UInt8], at milliseconds: Int64, wait: Int64) {
        guard let value = RecordFields(payload).numbers.first(where: { $0.field == field })?.value
        else { return }
        let isLate = wait > DataRecord.lateAfter.milliseconds
        let bucket = milliseconds / step
        if rollups[bucket]?.add(value, isLate: isLate) == nil {
            rollups[bucket] = Rollup(value, isLate: isLate)
        }
    }

    var inOrder: [SeriesBucket] {
        rollups.sorted { $0.key < $1.key }.prefix(SeriesRange.limit).map { bucket, rollup in
            SeriesBucket(
                start: Timestamp(milliseconds: bucket * step), least: rollup.least,
                greatest: rollup.greatest, sum: rollup.sum, count: Int(rollup.count),
                isLate: rollup.isLate)
        }
    }
}
