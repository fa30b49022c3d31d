import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The bounds of a where")
struct WhereBoundsTests {
    private static let iid = StubFrontend.iid
    private static let time = #"{"__type":"Date","iso":"2023-11-14T22:13:20.000Z"}"#
    private static let milliseconds: Int64 = 1_700_000_000_000
    private static let latest = Timestamp(milliseconds: .max).milliseconds

    private func bounds(_ text: String) throws -> WhereBounds {
        WhereBounds(try WhereClause(.string(text)))
    }

    @Test("take a range of times, whose ends belong to it", arguments: [
        ("$gte", milliseconds, latest), ("$gt", milliseconds + 1, latest),
        ("$lte", 0, milliseconds), ("$lt", 0, milliseconds - 1),
        ("$eq", milliseconds, milliseconds),
    ])
    func times(name: String, first: Int64, last: Int64) throws {
        for member in ["createdAt", "updatedAt"] {
            let bounds = try bounds(#"{"\#(member)":{"\#(name)":\#(Self.time)}}"#)
            let range = member == "createdAt" ? bounds.createdAt : bounds.updatedAt
            #expect(range?.lowerBound.milliseconds == first)
            #expect(range?.upperBound.milliseconds == last)
            #expect((member == "createdAt" ? bounds.updatedAt : bounds.createdAt) == nil)
            #expect(bounds.rest.isEmpty && !bounds.isEmpty)
        }
    }

    @Test("of one time meet, also within $and")
    func meet() throws {
        let text = """
            {"createdAt":{"$gte":\(Self.time),"$lte":"2023-11-14T22:13:50.000Z"},
             "$and":[{"createdAt":{"$lt":"2023-11-14T22:13:30.000Z"}}]}
            """
        let range = try bounds(text).createdAt
        #expect(range?.lowerBound.milliseconds == Self.milliseconds)
        #expect(range?.upperBound.milliseconds == Self.milliseconds + 9_999)
    }

    @Test("take the ids that every condition names", arguments: [
        (#"{"objectId":"a"}"#, ["a"]), (#"{"objectId":{"$eq":"a"}}"#, ["a"]),
        (#"{"objectId":{"$in":["a","b"]}}"#, ["a", "b"]),
        (#"{"objectId":{"$in":["a","b"]},"$and":[{"objectId":{"$in":["b","c"]}}]}"#, ["b"]),
        (#"{"objectId":{"$in":["a","no id",7,null]}}"#, ["a"]),
    ])
    func ids(text: String, expected: [String]) throws {
        let bounds = try bounds(text)
        #expect(bounds.objects?.map(\.description).sorted() == expected)
        #expect(bounds.rest.isEmpty && !bounds.isEmpty)
    }

    @Test("know that nothing can match", arguments: [
        #"{"objectId":{"$in":[]}}"#, #"{"objectId":"no id"}"#, #"{"objectId":7}"#,
        #"{"objectId":"a","$and":[{"objectId":"b"}]}"#,
        #"{"installationId":"no id"}"#, #"{"installationId":"\#(iid.uppercased())"}"#,
        #"{"installationId":"\#(iid)","$and":[{"installationId":"\#(StoredWrites.other)"}]}"#,
        #"{"createdAt":{"$lt":"1970-01-01T00:00:00.000Z"}}"#,
        #"{"createdAt":{"$gt":\#(time),"$lt":\#(time)}}"#,
    ])
    func nothing(text: String) throws {
        #expect(try bounds(text).isEmpty)
    }

    @Test("leave every other condition to be tested", arguments: [
        #"{"n":1}"#, #"{"$or":[{"objectId":"a"},{"n":1}]}"#, #"{"$nor":[{"objectId":"a"}]}"#,
        #"{"objectId":{"$ne":"a"}}"#, #"{"objectId":{"$nin":["a"]}}"#,
        #"{"objectId":{"$not":{"$in":["a"]}}}"#, #"{"createdAt":{"$ne":\#(time)}}"#,
        #"{"createdAt":{"$gt":"soon"}}"#, #"{"receivedAt":{"$gt":\#(time)}}"#,
        #"{"installationId":{"$in":["\#(iid)"]}}"#,
    ])
    func rest(text: String) throws {
        let bounds = try bounds(text)
        #expect(!bounds.rest.isEmpty && !bounds.isEmpty)
        #expect(bounds.objects == nil && bounds.installation == nil)
        #expect(bounds.createdAt == nil && bounds.updatedAt == nil)
    }
}
