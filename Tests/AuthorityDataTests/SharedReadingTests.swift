import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Data that is read for somebody else")
struct SharedReadingTests {
    @Test("is of the named classes", arguments: Stores.all)
    func classes(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep(["A", "AB", "B", "C"].enumerated().map { number, name in
            Given.record(Int64(number + 1), at: .seconds(number), class: name)
        })
        var query = RecordQuery(owner: Given.ann, limit: 10)
        query.board = Given.board
        query.classes = [ClassName("B")!, ClassName("A")!]
        #expect(try await store.records(query).map(\.sequence) == [1, 3])
        query.isDescending = true
        query.limit = 1
        #expect(try await store.records(query).map(\.sequence) == [3])
        query.classes = []
        #expect(try await store.records(query).isEmpty)
        query.className = ClassName("C")
        #expect(try await store.records(query).map(\.sequence) == [4])
        try await store.close()
    }

    @Test("leaves out objects that another board wrote, too", arguments: Stores.all)
    func mixed(stores: Stores) async throws {
        let store = try await stores.make()
        let other = Given.board(2)
        let (first, second) = ("\(Given.id(1))", "\(Given.id(2))")
        // Each pair in both orders of arrival.
        let writes = [
            Given.record(1, at: .seconds(1)), Given.record(2, at: .seconds(2)),
            Given.record(3, at: .seconds(3)),
            Given.write(.update, first, 1, #"{"x":1}"#, at: .seconds(4), board: other),
            Given.write(.update, first, 4, #"{"y":1}"#, at: .seconds(5)),
            Given.write(.update, second, 5, #"{"y":1}"#, at: .seconds(6)),
            Given.write(.update, "door", 2, #"{"x":1}"#, at: .seconds(7), board: other),
            Given.write(.update, "door", 6, #"{"y":1}"#, at: .seconds(8)),
            Given.write(.update, "gate", 3, #"{"x":1}"#, at: .seconds(9), board: other),
            Given.write(.delete, "gate", 4, at: .seconds(10), board: other),
            Given.write(.update, "gate", 7, #"{"y":1}"#, at: .seconds(11)),
        ]
        for write in writes { _ = try await store.keep([write]) }
        var query = ObjectQuery(owner: Given.ann, className: Given.reading)
        query.board = Given.board
        query.counts = true
        #expect(try await store.objects(query).count == 5)
        query.ofOneBoard = true
        let page = try await store.objects(query)
        #expect(Set(page.objects.map(\.id.description)) == [second, "\(Given.id(3))", "gate"])
        #expect(page.count == 3)
        query.ids = Set(["door", "gate"].compactMap { RecordID($0) })
        #expect(try await store.objects(query).objects.map(\.id.description) == ["gate"])
        try await store.close()
    }
}
