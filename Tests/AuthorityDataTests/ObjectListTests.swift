import AuthorityCore
import Gate
import Sessions
import Testing

@testable import AuthorityData

@Suite("A list of objects")
struct ObjectListTests {
    /// More objects than anyone reads.
    private struct EndlessTables: ObjectTables {
        func object(_ id: RecordID) throws(AuthorityError) -> DataObject? { made(1, id) }

        func created(
            after place: ObjectPlace?, limit: Int, withContent: Bool
        ) throws(AuthorityError) -> [ListedObject] {
            let first = (place?.time ?? 0) + 1
            return (first..<first + Int64(limit)).map { time in
                ListedObject(
                    place: ObjectPlace(time: time),
                    object: withContent ? made(time, Given.id(time)) : nil, bytes: 10)
            }
        }

        func changed(
            after place: ObjectPlace?, limit: Int
        ) throws(AuthorityError) -> [ListedObject] { [] }

        func count() throws(AuthorityError) -> Int { .max }

        private func made(_ time: Int64, _ id: RecordID) -> DataObject {
            let time = Timestamp(milliseconds: time)
            return DataObject(
                className: Given.reading, id: id, board: Given.board, app: AppName("thermo")!,
                createdAt: time, updatedAt: time, receivedAt: time, members: [:])
        }
    }

    /// A clock that is over after it was asked this often.
    private func clock(_ times: Int) -> () -> Bool {
        var asked = 0
        return {
            asked += 1
            return asked > times
        }
    }

    private func page(
        asks: Int, _ change: (inout ObjectQuery) -> Void
    ) throws -> ObjectPage {
        var query = ObjectQuery(owner: Given.ann, className: Given.reading)
        query.limit = 1000
        change(&query)
        return try ObjectList(query: query, tables: EndlessTables(), isOver: clock(asks)).page()
    }

    @Test("stops when its time is up, and says so", arguments: 0...2)
    func time(kind: Int) throws {
        let stopped = try page(asks: 7) { query in
            if kind == 1 { query.matches = { _ in true } }
            if kind == 2 { query.ids = Set((1...20).map { Given.id($0) }) }
        }
        #expect(stopped.isPartial)
        #expect((7...8).contains(stopped.objects.count))
        let whole = try page(asks: .max) { query in
            query.limit = 20
            if kind == 1 { query.matches = { _ in true } }
            if kind == 2 { query.ids = Set((1...20).map { Given.id($0) }) }
        }
        #expect((whole.isPartial, whole.objects.count) == (false, 20))
    }

    @Test("has two seconds")
    func limit() {
        #expect(ObjectList<EndlessTables>.timeLimit == .seconds(2))
    }
}
