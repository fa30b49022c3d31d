import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// What a board sent, for plots: the newest value of each field, and one field over time.
///
/// A board's data is that of its owner. An administrator sees the same as the owner. A person with
/// whom the board is shared sees the classes of the share.
struct SeriesRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let live: (any LiveFeed)?
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/boards/:iid/newest", .session(newest)),
            HTTPRoute(.get, "/boards/:iid/series", .session(series)),
        ]
    }

    /// Where no data is kept, the values of the fields that came lately, from memory.
    private func newest(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try await board(in: call, by: caller)
        let values = if let data {
            try await data.newest(of: board.lineage).shown(of: board.board)
        } else {
            live?.live(of: board.board.installation).newest.shown(of: board.board) ?? []
        }
        return Answer(newest: values, isKept: data != nil)
    }

    private func series(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let read = try SeriesRead(call)
        let board = try await board(in: call, by: caller)
        guard board.board.shows(read.className) else { throw .notShared }
        guard let data else {
            throw .refused(Refusal(.notFound, "This authority keeps no data: [data] keep is 0."))
        }
        return try await read.answer(board.lineage, from: data)
    }

    private func board(
        in call: Call, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail {
        let id = try call.parameter("iid", InstallationID.init)
        let detail = try await frontend.board(id, by: caller)
        live?.keepToOwner(of: detail.board)
        return detail
    }
}

extension Answer {
    init(newest values: [NewestValue], isKept: Bool) {
        self.init(["kept": .bool(isKept), "results": .array(values.map { .object($0.form) })])
    }
}

/// The read of one field: `?class=&field=&since=&until=`, `object` for the updates of one object,
/// and `points`.
struct SeriesRead: Sendable {
    fileprivate let className: ClassName
    private let field: String
    private let record: RecordID?
    private let since: Timestamp
    private let until: Timestamp
    private let points: Int

    fileprivate static let pointLimit = 2000
    private static let defaultPoints = 500

    init(_ call: Call) throws(AuthorityError) {
        className = try call.needed("class", { ClassName($0) })
        field = try call.needed("field", Self.field)
        record = try call.queried("object", { RecordID($0) })
        since = try call.needed("since", Self.time)
        until = try call.needed("until", Self.time)
        points = try call.queried("points") { text in
            Int(text).flatMap { (2...Self.pointLimit).contains($0) ? $0 : nil }
        } ?? Self.defaultPoints
        guard since < until else {
            throw .refused(Refusal(.validation, "since must be before until"))
        }
    }

    func answer(
        _ lineage: Lineage, from data: any DataStore
    ) async throws(AuthorityError) -> Answer {
        let step = BucketWidth(of: until - since, atMost: points)
        let query = SeriesQuery(
            owner: lineage.owner, board: lineage.boards[0], className: className, record: record,
            field: field, since: since, until: until, step: step.duration)
        let buckets = try await data.series(query, of: lineage)
        return Answer(buckets.columns(since: since, step: step))
    }

    /// The path of a field as a payload may have it. PostgreSQL cannot take a NUL in a text.
    private static func field(_ text: String) -> String? {
        (1...256).contains(text.utf8.count) && !text.utf8.contains(0) ? text : nil
    }

    private static func time(_ text: String) -> Timestamp? {
        Int64(text).flatMap { ms in
            let time = Timestamp(milliseconds: ms)
            return time.milliseconds == ms ? time : nil
        }
    }
}

extension Call {
    /// A query parameter that must be there.
    fileprivate func needed<T>(
        _ name: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T {
        guard let value = try queried(name, parse) else {
            throw .refused(Refusal(.validation, "the parameter \(name) is missing"))
        }
        return value
    }
}

/// The width of the buckets of a series: a round number, so that an hour or a day has whole ones.
struct BucketWidth: Equatable, Sendable {
    let milliseconds: Int64
    var duration: Duration { .milliseconds(milliseconds) }

    private static let day: Int64 = 86_400_000
    private static let short: [Int64] = [
        100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
        600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, day,
    ]

    /// The smallest round width with at most `points` buckets, 2 or more, in any span of this
    /// length. A span that is not aligned touches one bucket more than fit into it.
    init(of span: Duration, atMost points: Int) {
        let inner = Int64(max(points - 1, 1)), span = span.milliseconds
        let least = span / inner + (span % inner == 0 ? 0 : 1)
        milliseconds = Self.short.first { $0 >= least }
            ?? (least + Self.day - 1) / Self.day * Self.day
    }
}

extension [SeriesBucket] {
    /// Columns of equal length, from the first bucket that has a number to the last. A bucket
    /// without one is null. `late` has the indexes of the buckets with records that waited.
    fileprivate func columns(since: Timestamp, step: BucketWidth) -> [String: JSONValue] {
        let width = step.milliseconds
        let start = first?.start.milliseconds ?? since.milliseconds / width * width
        let length = last.map { ($0.start.milliseconds - start) / width + 1 } ?? 0
        // One bucket more than fits into the span, see `BucketWidth`.
        var slots = [SeriesBucket?](
            repeating: nil, count: Int(Swift.min(length, Int64(SeriesRead.pointLimit) + 1)))
        for bucket in self {
            let index = Int((bucket.start.milliseconds - start) / width)
            if slots.indices.contains(index) { slots[index] = bucket }
        }
        func column(_ value: (SeriesBucket) -> Double) -> JSONValue {
            .array(slots.map { $0.map(value).map { $0.isFinite ? .number($0) : .null } ?? .null })
        }
        return [
            "start": .integer(start), "step": .integer(width),
            "min": column(\.least), "max": column(\.greatest), "mean": column(\.mean),
            "count": .array(slots.map { .integer(Int64($0?.count ?? 0)) }),
            "late": .array(slots.indices.filter { slots[$0]?.isLate == true }
                .map { .integer(Int64($0)) }),
        ]
    }
}
