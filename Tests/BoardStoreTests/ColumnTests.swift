import Gate
import Sessions
import Testing

@testable import BoardStore

/// What stands in clear beside a batch may be changed by a failing card, or by a hand.
@Suite("Column of a batch")
struct ColumnTests {
    private static let spoilt = [
        "last = 1", "last = 0", "last = -9223372036854775808", "last = 9223372036854775807",
        "last = last + 65536", "first = -9223372036854775808, last = -9223372036854775808",
        "first = 9223372036854775807, last = 9223372036854775807", "first = 0",
        "count = -9223372036854775808", "count = 9223372036854775807", "count = 0",
        "oldest = -9223372036854775808", "oldest = 9223372036854775807", "classes = -1",
        "classes = 0", "sid = '', user = ''",
    ]

    @Test("that was changed ends no process, and what stands behind it goes on",
          arguments: spoilt)
    func changed(column: String) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        for first in stride(from: 1000 as Int64, through: 1060, by: 20) {
            try store.transact([
                .append(try (first..<first + 20).map { try Sample.write($0, at: 1000 + $0) })
            ])
        }
        try folder.raw().run("UPDATE batch SET \(column) WHERE first = 1020")
        let again = try folder.open()
        _ = try again.next(after: 0, limit: 1000)
        try again.transact([.remove([1005])])
        try again.transact([.expire(
            from: Timestamp(milliseconds: 0), before: Timestamp(milliseconds: 2041))])
        try again.transact([.makeRoom(bytes: 1, keep: [])])
        let last = again.lastSequence
        try again.transact([.append([try Sample.write(last + 1)])])
        #expect(try again.allSequences().last == last + 1)
        try again.transact([.makeRoom(bytes: 1 << 30, keep: [])])
        #expect(try again.allSequences().isEmpty)
    }
}
