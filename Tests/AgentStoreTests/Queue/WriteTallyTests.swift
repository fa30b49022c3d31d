import Sessions
import Testing
@testable import AgentStore

@Suite("Write tally")
struct WriteTallyTests {
    private static let day: Int64 = 86_400_000
    private let noon = Timestamp(milliseconds: 20_000 * day + day / 2)

    @Test("counts the pages that are touched", arguments: [
        (0, 0, 0), (1, 0, 4096), (4096, 0, 4096), (4097, 0, 8192), (2, 4095, 8192),
        (400, 4000, 8192), (400, 4096, 4096),
    ])
    func pages(count: Int, offset: Int, bytes: Int64) {
        #expect(WriteTally.bytes(count, at: offset) == bytes)
    }

    @Test("begins each day again, and keeps the day before alone")
    func days() {
        var tally = WriteTally()
        tally.add(4096, at: noon)
        #expect(tally.today == 4096 && tally.yesterday == nil)
        tally.add(4096, at: noon + .seconds(86_400))
        #expect(tally.today == 4096 && tally.yesterday == 4096)
        tally.add(1, at: noon + .seconds(3 * 86_400))
        #expect(tally.today == 1 && tally.yesterday == nil)
    }

    @Test("tells the day's rate once ten minutes of it are known")
    func rate() {
        var tally = WriteTally()
        tally.add(4096, at: noon)
        #expect(tally.perDay(at: noon + .seconds(599)) == nil)
        let rate: Int64? = tally.perDay(at: noon + .seconds(3600))
        let wanted: Int64 = 98_304
        #expect(rate == wanted)
        #expect(tally.perDay(at: noon + .seconds(86_400)) == nil)
    }

    @Test("gives back what it was")
    func coding() throws {
        var tally = WriteTally()
        tally.add(4096, at: noon)
        tally.add(512, at: noon + .seconds(86_400))
        var bytes: [UInt8] = []
        tally.encode(into: &bytes)
        var reader = ByteReader(bytes)
        #expect(WriteTally(&reader) == tally)
    }
}
