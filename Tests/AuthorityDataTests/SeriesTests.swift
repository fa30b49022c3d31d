import AuthorityCore
import Gate
import Sessions
import Testing

@Suite("A series of numbers")
struct SeriesTests {
    private func query(
        _ hours: Range<Int64>, step: Duration, field: String = "celsius", owner: UserID = Given.ann
    ) -> SeriesQuery {
        SeriesQuery(
            owner: owner, board: Given.board, className: Given.reading, field: field,
            since: Given.start + .seconds(hours.lowerBound * 3600),
            until: Given.start + .seconds(hours.upperBound * 3600), step: step)
    }

    @Test("has least, greatest, sum and count of each step that has any", arguments: Stores.all)
    func buckets(stores: Stores) async throws {
        let store = try await stores.make()
        // 10 hours, each half minute, with a gap in the fifth hour; in parts that repeat records.
        let records = (0..<1200).filter { !(480..<600).contains($0) }.map { index in
            Given.record(
                Int64(index), #"{"celsius":\#(index)}"#, at: .seconds(index * 30),
                wait: .seconds(index < 120 ? 61 : 1))
        }
        for start in stride(from: 0, to: 1080, by: 90) {
            _ = try await store.keep(Array(records[max(start - 30, 0)..<start + 90]))
        }
        let hours = try await store.series(query(0..<10, step: .seconds(3600)))
        #expect(hours.map(\.count) == Array(repeating: 120, count: 9))
        #expect(hours.map(\.start) == [0, 1, 2, 3, 5, 6, 7, 8, 9].map {
            Given.start + .seconds($0 * 3600)
        })
        #expect(hours[1] == SeriesBucket(
            start: Given.start + .seconds(3600), least: 120, greatest: 239,
            sum: (120..<240).reduce(0) { $0 + Double($1) }, count: 120, isLate: false))
        #expect(hours.map(\.isLate) == [true] + Array(repeating: false, count: 8))
        let fine = try await store.series(query(1..<2, step: .seconds(30)))
        #expect(fine.map(\.least) == (120..<240).map(Double.init))
        let exact = try await store.series(query(1..<2, step: .seconds(3600)))
        #expect(exact == [hours[1]])
        #expect(try await store.series(query(0..<10, step: .seconds(60), owner: Given.bob)).isEmpty)
        #expect(try await store.series(query(0..<10, step: .zero)).count == 1080)
        try await store.close()
    }

    @Test("of an object's updates is apart from the creates", arguments: Stores.all)
    func updates(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep([
            Given.record(1, #"{"celsius":1}"#),
            Given.write(.update, "lamp", 2, #"{"celsius":2}"#),
            Given.write(.update, "lamp", 3, #"{"celsius":3}"#, at: .seconds(60)),
            Given.write(.update, "stove", 4, #"{"celsius":4}"#),
        ])
        for hours in [0..<1, 0..<100] as [Range<Int64>] {
            var query = query(hours, step: .seconds(60))
            query.record = RecordID("lamp")
            #expect(try await store.series(query).map(\.sum) == [2, 3])
        }
        try await store.close()
    }

    @Test("stays a number, whatever numbers a board sends", arguments: Stores.all)
    func extremes(stores: Stores) async throws {
        let store = try await stores.make()
        let numbers = ["1e308", "1e308", "-1e308", "1e289", "1e289", "-1e289", "5e-324"]
        for (index, number) in numbers.enumerated() {
            _ = try await store.keep([Given.record(Int64(index), #"{"celsius":\#(number)}"#)])
        }
        let buckets = try await store.series(query(0..<100, step: .seconds(60)))
        #expect(buckets.map(\.count) == [4])
        #expect(buckets.allSatisfy { $0.sum.isFinite && $0.mean.isFinite })
        try await store.close()
    }
}
