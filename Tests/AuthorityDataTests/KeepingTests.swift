import AuthorityCore
import AuthorityData
import Gate
import Sessions
import Testing
import Wire

@Suite("The store of records", .serialized)
struct KeepingTests {
    @Test("keeps each record once by board and sequence", arguments: Stores.all)
    func once(stores: Stores) async throws {
        let store = try await stores.make()
        let records = (1...5).map { Given.record($0, at: .seconds($0)) }
        #expect(try await store.keep(records) == KeepCount(stored: 5))
        #expect(try await store.keep(records) == KeepCount(repeated: 5))
        let changed = Given.record(3, "other", at: .seconds(90))
        let next = Given.record(6, at: .seconds(6))
        let count = try await store.keep([changed, next, next])
        #expect(count == KeepCount(stored: 1, repeated: 2))
        var query = RecordQuery(owner: Given.ann, limit: 100)
        #expect(try await store.records(query) == (records + [next]).map(\.record))
        query.isDescending = true
        #expect(try await store.records(query) == (records + [next]).map(\.record).reversed())
        try await store.close()
    }

    @Test("gives a page after the other in one order, over boards and equal times",
          arguments: Stores.all)
    func pages(stores: Stores) async throws {
        let store = try await stores.make()
        var records: [OwnedRecord] = []
        for board in 1...3 as ClosedRange<UInt8> {
            for number in 1...40 as ClosedRange<Int64> {
                // Four of a board share a millisecond, then comes a gap of hours.
                records.append(Given.record(
                    number, at: .seconds(number / 4 * 5000), board: Given.board(board),
                    class: number.isMultiple(of: 2) ? "Reading" : "Door"))
            }
        }
        _ = try await store.keep(records.shuffled())
        let sorted = records.map(\.record).sorted {
            ($0.writtenAt, "\($0.board)", $0.sequence) < ($1.writtenAt, "\($1.board)", $1.sequence)
        }
        for isDescending in [false, true] {
            var query = RecordQuery(owner: Given.ann, limit: 7)
            query.isDescending = isDescending
            var found: [DataRecord] = []
            while true {
                let page = try await store.records(query)
                found += page
                guard let last = page.last else { break }
                query.after = RecordPosition(last)
            }
            #expect(found == (isDescending ? sorted.reversed() : sorted))
        }
        var query = RecordQuery(owner: Given.ann, limit: 1000)
        (query.board, query.className) = (Given.board(2), ClassName("Door"))
        query.since = Given.start + .seconds(5000)
        query.until = Given.start + .seconds(20_000)
        let cut = sorted.filter {
            $0.board == Given.board(2) && $0.path.className.description == "Door"
                && $0.writtenAt >= query.since! && $0.writtenAt < query.until!
        }
        #expect(try await store.records(query) == cut)
        #expect(!cut.isEmpty)
        #expect(try await store.records(RecordQuery(owner: Given.bob, limit: 9)).isEmpty)
        try await store.close()
    }

    @Test("keeps bytes of every kind, and any number as a sequence", arguments: Stores.all)
    func bytes(stores: Stores) async throws {
        let store = try await stores.make()
        let payloads = [
            "", "\0", #"{"a\u0000":"b\u0000","c":1e308,"d":"\u0000"}"#, #"{"celsius":1e999}"#,
            #""open""#, "[1,2]", "-", String(repeating: "[", count: 70_000),
        ]
        var records = payloads.enumerated().map { Given.record(Int64($0) - 3, $1) }
        records.append(Given.record(.max))
        records.append(Given.record(.min))
        #expect(try await store.keep(records).stored == records.count)
        let found = try await store.records(RecordQuery(owner: Given.ann, limit: 100))
        #expect(found.map(\.payload)
            == records.sorted { $0.record.sequence < $1.record.sequence }.map(\.record.payload))
        _ = try await store.newest(of: Given.board, owner: Given.ann)
        try await store.close()
    }

    @Test("finds a place for each record of one millisecond",
          arguments: Stores.all)
    func sameTime(stores: Stores) async throws {
        let store = try await stores.make()
        // Their low bits are the same.
        let records = (0..<300).map { Given.record($0 << 20) }
        #expect(try await store.keep(records).stored == 300)
        let found = try await store.records(RecordQuery(owner: Given.ann, limit: 1000))
        #expect(found.count == 300)
        try await store.close()
    }

    @Test("gives the newest value of each field", arguments: Stores.all)
    func newest(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep([
            Given.record(1, #"{"celsius":20,"door":"open"}"#, at: .seconds(10)),
            Given.record(2, #"{"celsius":19}"#, at: .seconds(5)),
            Given.record(3, "bright", at: .seconds(20), class: "Light"),
            Given.write(.update, "lamp", 4, #"{"watts":3}"#, at: .seconds(30)),
        ])
        let newest = try await store.newest(of: Given.board, owner: Given.ann)
        let texts = newest.map {
            "\($0.className)/\($0.record.map { "\($0)" } ?? "")/\($0.field) \($0.value)"
        }
        #expect(Set(texts) == [
            "Reading//celsius number(20.0)", #"Reading//door text("open")"#,
            #"Light//value text("bright")"#, "Reading/lamp/watts number(3.0)",
        ])
        #expect(newest.first?.writtenAt == Given.start + .seconds(30))
        #expect(try await store.newest(of: Given.board, owner: Given.bob).isEmpty)
        try await store.close()
    }
}
