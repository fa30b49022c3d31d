import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Objects of a class")
struct ObjectTests {
    private let lamp = ClassName("Lamp")!

    private func query(_ change: (inout ObjectQuery) -> Void = { _ in }) -> ObjectQuery {
        var query = ObjectQuery(owner: Given.ann, className: Given.reading)
        change(&query)
        return query
    }

    @Test("are made by creates, and changed by updates and deletes", arguments: Stores.all)
    func life(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep((1...4).map {
            Given.record($0, #"{"n":\#($0)}"#, at: .seconds($0))
        })
        _ = try await store.keep([
            Given.write(
                .update, "\(Given.id(2))", 5,
                #"{"n":{"__op":"Increment","amount":40},"on":true}"#,
                at: .seconds(10), board: Given.board(2)),
            Given.write(.delete, "\(Given.id(3))", 6, at: .seconds(11)),
            Given.write(
                .update, "\(Given.id(4))", 7, #"{"n":{"__op":"Delete"}}"#, at: .seconds(12)),
        ])
        let page = try await store.objects(query())
        #expect(page.objects.map(\.id) == [Given.id(1), Given.id(2), Given.id(4)])
        #expect(page.objects.map(\.members) == [
            ["n": .integer(1)], ["n": .integer(42), "on": .bool(true)], [:],
        ])
        let second = try await store.object(Given.id(2), of: Given.reading, owner: Given.ann)
        #expect(second == page.objects[1])
        #expect(second?.createdAt == Given.start + .seconds(2))
        #expect(second?.updatedAt == Given.start + .seconds(10))
        #expect(second?.board == Given.board(2))
        let first = try await store.object(Given.id(1), of: Given.reading, owner: Given.ann)
        #expect(first == page.objects[0])
        let strange = [(3, Given.ann), (1, Given.bob), (9, Given.ann)]
        for (id, owner) in strange.map({ (Given.id(Int64($0)), $1) }) {
            #expect(try await store.object(id, of: Given.reading, owner: owner) == nil)
        }
        #expect(try await store.object(Given.id(1), of: lamp, owner: Given.ann) == nil)
        try await store.close()
    }

    @Test("are the same, whatever the order in which their writes come", arguments: Stores.all)
    func order(stores: Stores) async throws {
        let writes = [
            Given.record(1, #"{"a":1,"b":1}"#, at: .seconds(1)),
            Given.write(.update, "\(Given.id(1))", 2, #"{"b":2,"c":2}"#, at: .seconds(2)),
        ]
        for writes in [writes, writes.reversed()] {
            for isOneBatch in [true, false] {
                let store = try await stores.make()
                if isOneBatch { _ = try await store.keep(writes) } else {
                    for write in writes { _ = try await store.keep([write]) }
                }
                let page = try await store.objects(query())
                #expect(page.objects.map(\.members) == [
                    ["a": .integer(1), "b": .integer(2), "c": .integer(2)],
                ])
                #expect(page.objects.first?.createdAt == Given.start + .seconds(1))
                try await store.close()
            }
        }
    }

    @Test("do not change by a write that is older than their last one", arguments: Stores.all)
    func late(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep([
            Given.write(.update, "lamp", 1, #"{"on":true}"#, at: .seconds(9)),
        ])
        _ = try await store.keep([
            Given.write(.update, "lamp", 2, #"{"on":false}"#, at: .seconds(8)),
            Given.write(.delete, "lamp", 3, at: .seconds(7)),
        ])
        #expect(try await store.objects(query()).objects.map(\.members) == [["on": .bool(true)]])
        _ = try await store.keep([Given.write(.delete, "lamp", 4, at: .seconds(10))])
        #expect(try await store.objects(query()).objects.isEmpty)
        // A write from the year 9999 is one of today, so it hides no later one.
        let far = Given.write(.update, "lamp", 5, #"{"on":true}"#, at: .seconds(250_000_000_000),
                              wait: .seconds(20 - 250_000_000_000))
        _ = try await store.keep([far])
        _ = try await store.keep([
            Given.write(.update, "lamp", 6, #"{"on":false}"#, at: .seconds(30)),
        ])
        let page = try await store.objects(query())
        #expect(page.objects.map(\.members) == [["on": .bool(false)]])
        #expect(page.objects.first?.createdAt == Given.start + .seconds(20))
        try await store.close()
    }

    @Test("are listed in order, skipped, counted and cut", arguments: Stores.all)
    func list(stores: Stores) async throws {
        let store = try await stores.make()
        var records: [OwnedRecord] = []
        for number in 1...600 as ClosedRange<Int64> {
            records.append(Given.record(
                number, #"{"n":\#(number)}"#, at: .seconds(number),
                board: Given.board(UInt8(number % 3) + 1)))
        }
        _ = try await store.keep(records)
        _ = try await store.keep([
            Given.write(.update, "\(Given.id(300, Given.board(1)))", 601, #"{"n":0}"#,
                at: .seconds(900)),
            Given.record(602, at: .seconds(3), class: "Lamp"),
            Given.record(603, at: .seconds(3), owner: Given.bob),
        ])
        func numbers(_ change: (inout ObjectQuery) -> Void) async throws -> [Int64] {
            try await store.objects(query(change)).objects.compactMap { $0.members["n"]?.asInteger }
        }
        let all = (1...600).map { $0 == 300 ? 0 : Int64($0) }
        #expect(try await numbers { $0.limit = 1000 } == all)
        #expect(try await numbers { ($0.limit, $0.skip, $0.isDescending) = (10, 295, true) }
            == all.reversed()[295..<305].map(\.self))
        #expect(try await numbers { ($0.limit, $0.isDescending, $0.order) = (2, true, .updatedAt) }
            == [0, 600])
        #expect(try await numbers {
            $0.matches = { ($0.members["n"]?.asInteger ?? 0) % 100 == 0 }
            ($0.skip, $0.limit) = (1, 3)
        } == [200, 0, 400])
        #expect(try await numbers {
            $0.createdAt = Given.start + .seconds(10)...Given.start + .seconds(14)
            $0.board = Given.board(2)
        } == [10, 13])
        let counted = try await store.objects(query { ($0.counts, $0.limit) = (true, 0) })
        #expect((counted.count, counted.objects.count) == (600, 0))
        let cut = try await store.objects(query {
            ($0.counts, $0.examined) = (true, 100)
            $0.matches = { _ in true }
        })
        #expect((cut.count, cut.isPartial) == (100, true))
        let whole = try await store.objects(query {
            ($0.counts, $0.examined) = (true, 600)
            $0.matches = { _ in false }
        })
        #expect((whole.count, whole.isPartial) == (0, false))
        try await store.close()
    }

    @Test("are found by their ids, in order and within the bounds", arguments: Stores.all)
    func ids(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep((1...Int64(6)).map {
            Given.record($0, #"{"n":\#($0)}"#, at: .seconds($0))
        })
        _ = try await store.keep([
            Given.write(.update, "\(Given.id(2))", 7, #"{"n":20}"#, at: .seconds(10)),
            Given.write(.delete, "\(Given.id(3))", 8, at: .seconds(11)),
            Given.write(.update, "lamp", 9, #"{"n":9}"#, at: .seconds(12)),
            Given.write(.update, "lamp", 1, #"{"n":-1}"#, board: Given.board(2), owner: Given.bob),
        ])
        let lamp = try #require(RecordID("lamp"))
        let none = try #require(RecordID("none"))
        let all: Set = [Given.id(1), Given.id(2), Given.id(3), Given.id(5), lamp, none]
        func numbers(_ change: (inout ObjectQuery) -> Void) async throws -> [Int64] {
            let page = try await store.objects(query { query in
                (query.ids, query.counts) = (all, true)
                change(&query)
            })
            #expect(!page.isPartial)
            if page.objects.count < query(change).limit, query(change).skip == 0 {
                #expect(page.count == page.objects.count)
            }
            return page.objects.compactMap { $0.members["n"]?.asInteger }
        }
        #expect(try await numbers { _ in } == [1, 20, 5, 9])
        #expect(try await numbers { ($0.order, $0.isDescending) = (.updatedAt, true) }
            == [9, 20, 5, 1])
        #expect(try await numbers { ($0.skip, $0.limit) = (1, 2) } == [20, 5])
        #expect(try await numbers { $0.matches = { $0.id != lamp } } == [1, 20, 5])
        #expect(try await numbers { $0.board = Given.board(2) } == [])
        #expect(try await numbers {
            $0.updatedAt = Given.start + .seconds(5)...Given.start + .seconds(10)
        } == [20, 5])
        #expect(try await numbers {
            $0.createdAt = Given.start...Given.start + .seconds(2)
        } == [1, 20])
        #expect(try await numbers { $0.ids = [] } == [])
        try await store.close()
    }

    @Test("hold what is no JSON object as their member value", arguments: Stores.all)
    func value(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep([
            Given.record(1, "open", at: .seconds(1)), Given.record(2, "[21.5]", at: .seconds(2)),
        ])
        let record = Given.record(3, at: .seconds(3)).record
        _ = try await store.keep([OwnedRecord(owner: Given.ann, record: DataRecord(
            board: record.board, sequence: 3, path: record.path, app: record.app,
            writtenAt: record.writtenAt, receivedAt: record.receivedAt, payload: [0xFF, 0]),
            since: Given.ownedSince)])
        #expect(try await store.objects(query()).objects.map(\.members) == [
            ["value": .string("open")], ["value": .array([.number(21.5)])],
            ["value": .object(["__type": .string("Bytes"), "base64": .string("/wA=")])],
        ])
        try await store.close()
    }

    @Test("that could not be read back are not made by updates, and block nobody",
          arguments: Stores.all)
    func unreadable(stores: Stores) async throws {
        let store = try await stores.make()
        let many = "[" + Array(repeating: "0", count: 20_000).joined(separator: ",") + "]"
        let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        let writes = [#"{"a":\#(many)}"#, #"{"b":\#(many)}"#, deep, #"{"c":1}"#]
        for (index, payload) in writes.enumerated() {
            let number = Int64(index + 1)
            _ = try await store.keep([
                Given.write(.update, "main", number, payload, at: .seconds(number)),
                Given.record(number, at: .seconds(number), board: Given.board(2)),
            ])
        }
        let main = try #require(RecordID("main"))
        let found = try await store.object(main, of: Given.reading, owner: Given.ann)
        #expect(found?.members.keys.sorted() == ["a", "c"])
        #expect(try await store.usage().records == 8)
        try await store.close()
    }

    @Test("of one page have at most 8 MiB; then the page is partial", arguments: Stores.all)
    func large(stores: Stores) async throws {
        let store = try await stores.make()
        let payload = "\"" + String(repeating: "x", count: 250_000) + "\""
        for number in 1...Int64(40) {
            _ = try await store.keep([Given.record(number, payload, at: .seconds(number))])
        }
        let all: @Sendable (DataObject) -> Bool = { _ in true }
        for matches in [nil, all] {
            let page = try await store.objects(query {
                $0.limit = 1000
                $0.matches = matches
            })
            #expect(page.isPartial)
            #expect((1...39).contains(page.objects.count))
        }
        let few = try await store.objects(query { $0.limit = 5 })
        #expect((few.objects.count, few.isPartial) == (5, false))
        try await store.close()
    }

    @Test("of more than 256 classes of a board are not kept", arguments: Stores.all)
    func classes(stores: Stores) async throws {
        let store = try await stores.make()
        // A batch of too many classes keeps any of them, so C1 comes before.
        _ = try await store.keep([Given.record(1, class: "C1")])
        let first = try await store.keep((2...Int64(300)).map {
            Given.record($0, at: .seconds($0), class: "C\($0)")
        })
        #expect((first.stored, first.crowded) == (255, 44))
        let second = try await store.keep([
            Given.record(301, class: "D"), Given.record(302, class: "C1"),
            Given.record(1, board: Given.board(2), class: "D"),
        ])
        #expect((second.stored, second.crowded) == (2, 1))
        try await store.close()
    }

    @Test("that were changed are read in pages, each once", arguments: Stores.all)
    func changedPages(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep((1...Int64(100)).map {
            Given.write(.update, "o\($0)", $0, at: .seconds($0 / 10))
        })
        for isDescending in [false, true] {
            let page = try await store.objects(query {
                ($0.order, $0.isDescending, $0.limit) = (.updatedAt, isDescending, 1000)
                $0.matches = { _ in true }
            })
            #expect(page.objects.count == 100)
            #expect(Set(page.objects.map(\.id)).count == 100)
            let times = page.objects.map(\.updatedAt)
            #expect(times == (isDescending ? times.sorted(by: >) : times.sorted()))
        }
        try await store.close()
    }

    @Test("of other owners, and of the owner of a released board, do not change by its writes",
          arguments: Stores.all)
    func foreign(stores: Stores) async throws {
        let store = try await stores.make()
        let second = Given.board(2)
        _ = try await store.keep([
            Given.record(1, #"{"n":1}"#), Given.record(2, #"{"n":2}"#),
            Given.write(.update, "lamp", 3, #"{"n":3}"#),
            Given.write(.update, "\(Given.id(9, second))", 4, #"{"on":true}"#),
        ])
        let before = try await store.objects(query()).objects
        #expect(before.count == 4)
        let (id, lamp) = ("\(Given.id(1))", "lamp")
        _ = try await store.keep([
            Given.write(.update, id, 1, at: .seconds(1), board: second, owner: Given.bob),
            Given.write(.delete, id, 2, at: .seconds(2), board: second, owner: Given.bob),
            Given.write(.delete, lamp, 3, at: .seconds(2), board: second, owner: Given.bob),
        ])
        #expect(try await store.objects(query()).objects == before)
        let former = [
            Given.write(.update, id, 4, #"{"n":7}"#, at: .seconds(3), board: second),
            Given.write(.delete, id, 5, at: .seconds(4), board: second),
            Given.write(.delete, lamp, 6, at: .seconds(4), board: second),
            Given.record(7, #"{"n":8}"#, at: .seconds(5), board: second),
            // The creation of an object that was updated before.
            Given.record(9, #"{"n":9}"#, at: .seconds(-1), board: second),
        ].map { owned in
            OwnedRecord(
                owner: owned.owner, record: owned.record, since: owned.since,
                isOfFormerOwner: true)
        }
        #expect(try await store.keep(former) == KeepCount(stored: 5))
        let after = try await store.objects(query()).objects
        #expect(Dictionary(grouping: after, by: \.id).mapValues { $0.map(\.members) } == [
            Given.id(1): [["n": .integer(1)]], Given.id(2): [["n": .integer(2)]],
            RecordID("lamp")!: [["n": .integer(3)]],
            Given.id(7, second): [["n": .integer(8)]],
            Given.id(9, second): [["n": .integer(9), "on": .bool(true)]],
        ])
        try await store.close()
    }
}
