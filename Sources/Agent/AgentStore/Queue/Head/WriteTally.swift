package import Sessions

/// How many bytes the store has written to disk, by day. This determines the life of a memory
/// card.
///
/// Counts whole pages of 4 KiB, as the kernel writes them. Does not count the file system's own
/// writes.
package struct WriteTally: Equatable, Sendable {
    static let page = 4096
    private static let millisecondsOfADay: Int64 = 86_400_000

    /// Days since 1970, UTC.
    private(set) var day: Int64 = 0
    package private(set) var today: Int64 = 0
    /// The bytes of the day before `day`. Nil if the store did not run on that day.
    package private(set) var yesterday: Int64?
    /// When the first bytes of today were written, in milliseconds.
    private var since: Int64 = 0

    init() {}

    /// The bytes of all pages that `count` bytes at `offset` touch.
    static func bytes(_ count: Int, at offset: Int = 0) -> Int64 {
        guard count > 0 else { return 0 }
        return Int64(((offset + count - 1) / page - offset / page + 1) * page)
    }

    mutating func add(_ bytes: Int64, at time: Timestamp) {
        let now = time.milliseconds / Self.millisecondsOfADay
        if now != day {
            yesterday = now == day + 1 ? today : nil
            (day, today, since) = (now, 0, time.milliseconds)
        }
        today = today &+ bytes
    }

    /// The bytes per day at today's rate. Nil during the first ten minutes of a day.
    package func perDay(at time: Timestamp) -> Int64? {
        let span = time.milliseconds - since
        guard span >= 600_000, time.milliseconds / Self.millisecondsOfADay == day else {
            return nil
        }
        let rate = Double(today) / Double(span) * Double(Self.millisecondsOfADay)
        return Int64(min(max(rate.rounded(), 0), 1e18))
    }

    func encode(into bytes: inout [UInt8]) {
        for number in [day, today, yesterday ?? -1, since] { bytes.append(number: number) }
    }

    init?(_ reader: inout ByteReader) {
        guard let day = reader.number(), let today = reader.number(),
            let yesterday = reader.number(), let since = reader.number()
        else { return nil }
        self.day = day
        self.today = today
        self.since = since
        self.yesterday = yesterday < 0 ? nil : yesterday
    }
}
