import Sessions
import Testing

@Suite("Timestamp")
struct TimestampTests {
    static let first = Timestamp(milliseconds: 0)
    static let last = Timestamp(milliseconds: 253_402_300_799_000)

    @Test("saturates at 1970 and at the year 9999", arguments: [
        (Int64.min, 0), (-1, 0), (0, 0), (1, 1), (1_700_000_000_123, 1_700_000_000_123),
        (253_402_300_799_000, 253_402_300_799_000),
        (253_402_300_799_001, 253_402_300_799_000), (.max, 253_402_300_799_000),
    ] as [(Int64, Int64)])
    func saturation(milliseconds: Int64, kept: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).milliseconds == kept)
    }

    @Test("reads seconds of its range and no others", arguments: [
        (.min, nil), (-1, nil), (0, 0), (1_700_000_000, 1_700_000_000),
        (253_402_300_799, 253_402_300_799), (253_402_300_800, nil), (.max, nil),
    ] as [(Int64, Int64?)])
    func seconds(text: Int64, kept: Int64?) {
        #expect(Timestamp(seconds: text)?.seconds == kept)
    }

    @Test("rounds milliseconds down to seconds")
    func rounding() {
        #expect(Timestamp(milliseconds: 1_999).seconds == 1)
        #expect(Timestamp(milliseconds: 999).seconds == 0)
    }

    @Test("adds and subtracts any span without a trap", arguments: [
        Duration.zero, .seconds(1), .seconds(-1), .seconds(Int64.max), .seconds(Int64.min),
        .milliseconds(Int64.max), .milliseconds(Int64.min), .nanoseconds(1), .seconds(400 * 86_400),
    ])
    func arithmetic(span: Duration) {
        for time in [Self.first, Timestamp(milliseconds: 1_700_000_000_000), Self.last] {
            for result in [time + span, time - span] {
                #expect(result >= Self.first)
                #expect(result <= Self.last)
            }
            if span > .zero {
                #expect(time + span >= time)
                #expect(time - span <= time)
            }
        }
    }

    @Test("a difference added again gives the time back")
    func difference() {
        for left in [0, 1, 999, 1_700_000_000_000, 253_402_300_799_000] as [Int64] {
            for right in [0, 5, 1_000, 1_800_000_000_000, 253_402_300_799_000] as [Int64] {
                let (left, right) = (Timestamp(milliseconds: left), Timestamp(milliseconds: right))
                #expect(right + (left - right) == left)
                #expect((left - right < .zero) == (left < right))
            }
        }
    }

    @Test("counts a span's whole milliseconds, towards zero")
    func spans() {
        #expect(Duration.seconds(1.5).milliseconds == 1500)
        #expect(Duration.microseconds(-1500).milliseconds == -1)
        #expect(Duration.microseconds(1999).milliseconds == 1)
    }
}
