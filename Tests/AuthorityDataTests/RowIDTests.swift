@testable import AuthorityData
import AuthorityCore
import Sessions
import Testing

@Suite("Row ids")
struct RowIDTests {
    @Test("of one sequence and one time differ between feeds after the first try")
    func spread() throws {
        let record = Given.record(7).record
        let first = (1...1000).map { feed in
            RecordRowID.candidate(record, feed: feed, attempt: 0)
        }
        #expect(Set(first).count == 1, "they begin with the same id")
        let second = (1...1000).map { feed in
            RecordRowID.candidate(record, feed: feed, attempt: 1)
        }
        #expect(Set(second).count > 990)
        #expect(second.allSatisfy { RecordRowID.time(of: $0) == record.writtenAt })
    }
}
