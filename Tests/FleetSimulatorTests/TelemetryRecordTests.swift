import Sessions
import Testing
@testable import FleetSimulator

@Suite("The book of telemetry")
struct TelemetryBookTests {
    private let session = ObjectID("abcdefghij")
    private let board = InstallationID(random: Array(repeating: 1, count: 16))

    private func book() throws -> TelemetryRecord {
        let book = TelemetryRecord()
        book.enter(board, try #require(session))
        return book
    }

    private func see(_ number: Int64?, _ book: TelemetryRecord, session: String = "abcdefghij") {
        book.see(number, of: board, session: session)
    }

    @Test("misses what was acknowledged and never came")
    func missing() throws {
        let book = try book()
        book.readerCame(at: .zero)
        for number in 1...4 as ClosedRange<Int64> {
            book.make(number, by: board)
            if number < 4 { book.acknowledge(number, of: board, at: .seconds(10)) }
        }
        see(1, book)
        see(3, book)
        let count = book.count
        #expect(count.made == 4 && count.acknowledged == 3 && count.seen == 2)
        #expect(count.missing == 1 && count.duplicates == 0 && count.unjudged == 0)
    }

    @Test("counts what came again, in whatever order")
    func duplicates() throws {
        let book = try book()
        book.readerCame(at: .zero)
        for number in [3, 1, 2, 2, 3, 5] as [Int64] { see(number, book) }
        #expect(book.count.duplicates == 2)
        #expect(book.count.seen == 4)
    }

    @Test("takes what comes before its acknowledgement")
    func early() throws {
        let book = try book()
        book.readerCame(at: .zero)
        see(1, book)
        book.acknowledge(1, of: board, at: .seconds(1))
        #expect(book.count.missing == 0)
    }

    @Test("does not judge what was acknowledged while the reader was away")
    func absence() throws {
        let book = try book()
        book.readerCame(at: .zero)
        book.readerWent(at: .seconds(100))
        book.readerCame(at: .seconds(110))
        for (number, second) in [(1, 50), (2, 97), (3, 105), (4, 130)] as [(Int64, Int)] {
            book.acknowledge(number, of: board, at: .seconds(second))
        }
        #expect(book.count.unjudged == 2)
        #expect(book.count.missing == 2)
    }

    @Test("names what was changed on the way, and what is another's")
    func strangers() throws {
        let book = try book()
        see(1, book, session: "0000000000")
        see(nil, book)
        book.see(1, of: InstallationID(random: Array(repeating: 2, count: 16)), session: nil)
        #expect(book.count.malformed == 2)
        #expect(book.count.foreign == 1)
        #expect(book.count.seen == 0)
    }

    @Test("judges nothing where nobody reads")
    func unread() throws {
        let book = try book()
        book.acknowledge(1, of: board, at: .seconds(1))
        #expect(!book.count.isChecked)
        #expect(book.count.missing == 0)
    }
}
