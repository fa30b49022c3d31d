import Sessions

/// How many bytes the store has had the disk write, by day: what counts for a card's life.
///
/// Whole pages of 4 KiB, as the kernel writes them; what the file system writes of its own is
/// not in it.
package struct WriteTally: Equatable, Sendable {
    static let page = 4096
    private static let millisecondsOfADay: Int64 = 86_400_000

    /// Days since 1970, UTC.
    private(set) var day: Int64 = 0
    package private(set) var today: Int64 = 0
    /// Of the day before `day`; nil where the store did not live through it.
    package private(set) var yesterday: Int64?

    init() {}

    /// The pages that `count` bytes at `offset` touch.
    static func bytes(_ count: Int, at offset: Int = 0) -> Int64 {
        guard count > 0 else { return 0 }
        return Int64(((offset + count - 1) / page - offset / page + 1) * page)
    }

    mutating func add(_ bytes: Int64, at time: Timestamp) {
        let now = time.milliseconds / Self.millisecondsOfADay
        if now != day {
            yesterday = now == day + 1 ? today : nil
            (day, today) = (now, 0)
        }
        today = today &+ bytes
    }

    func encode(into bytes: inout [UInt8]) {
        for number in [day, today, yesterday ?? -1] { bytes.append(number: number) }
    }

    init?(_ reader: inout ByteReader) {
        guard let day = reader.number(), let today = reader.number(),
            let yesterday = reader.number()
        else { return nil }
        self.day = day
        self.today = today
        self.yesterday = yesterday < 0 ? nil : yesterday
    }
}
