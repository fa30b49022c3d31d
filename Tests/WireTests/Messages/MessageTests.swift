import Sessions
import Testing
@testable import Wire

@Suite("Messages")
struct MessageTests {
    static let samples = Sample.authorityMessages + Sample.boardMessages

    @Test("print what they were parsed from", arguments: samples)
    func inverse(sample: Sample) throws {
        #expect(try sample.copy(sample.bytes) == sample.bytes)
    }

    @Test("name the member that is missing", arguments: samples)
    func missing(sample: Sample) throws {
        for member in sample.members {
            for (bytes, isTaken) in [
                (sample.bytes(member, nil), member.isOptional),
                (sample.bytes(member, .null), member.isNullable),
            ] {
                if isTaken {
                    #expect(throws: Never.self, "\(member)") { try sample.copy(bytes) }
                } else {
                    #expect(throws: WireError.missing(member.name), "\(member)") {
                        try sample.copy(bytes)
                    }
                }
            }
        }
    }

    @Test("name the member that has another type or range", arguments: samples)
    func mistyped(sample: Sample) throws {
        for member in sample.members {
            for value in member.refused {
                // An unknown type of message is no fault of form.
                if member.name == "type", value.asString != nil { continue }
                #expect(throws: WireError.mistyped(member.name), "\(member) = \(value)") {
                    try sample.copy(sample.bytes(member, value))
                }
            }
        }
    }

    @Test("ignore members that the contract does not have", arguments: samples)
    func unknownMembers(sample: Sample) throws {
        var json = sample.json
        json["future"] = .array([.object(["x": .null])])
        json["admin"] = .bool(true)
        #expect(try sample.copy(JSONValue.object(json).bytes) == sample.bytes)
    }

    @Test("are objects of JSON within their limit", arguments: samples)
    func form(sample: Sample) throws {
        for text in ["", "null", "[]", "1", "\"x\"", "{", "{\"id\":}", "\0", "{}{}"] {
            #expect(throws: WireError.notJSON, "\(text)") { try sample.copy(Array(text.utf8)) }
        }
        #expect(throws: WireError.notJSON) { try sample.copy([0xFF, 0xFE, 0x7B]) }
        for count in stride(from: 0, to: sample.bytes.count, by: 7) {
            #expect(throws: WireError.self) { try sample.copy(Array(sample.bytes.prefix(count))) }
        }
        let large = Array(repeating: UInt8(ascii: " "), count: 256 * 1024) + sample.bytes
        #expect(throws: WireError.tooLarge(limit: 256 * 1024)) { try sample.copy(large) }
        let deep = Array(repeating: UInt8(ascii: "["), count: 200_000)
        #expect(throws: WireError.notJSON) { try sample.copy(deep) }
    }

    @Test("of an unknown type are known as such")
    func unknownType() throws {
        let json: [String: JSONValue] = [
            "type": "session.dance", "id": .string(Example.id), "iat": Example.time,
        ]
        let bytes = JSONValue.object(json).bytes
        guard case .unknown = try AuthorityMessage(parsing: bytes).body else {
            Issue.record("the authority's message is not unknown")
            return
        }
        let message = try BoardMessage(parsing: bytes)
        guard case .unknown = message.body else {
            Issue.record("the board's message is not unknown")
            return
        }
        #expect(!message.body.needsClock)
        #expect(!message.clockUnset)
    }

    @Test("keep the id of a request that cannot be read further")
    func unreadable() throws {
        var json = try #require(Sample.boardMessages.first { $0.description == "user.get" }).json
        json["sessionToken"] = nil
        #expect(throws: UnreadableMessage(
            id: MessageID(Example.id), reason: .missing("sessionToken"))
        ) { try BoardMessage(parsing: JSONValue.object(json).bytes) }
        json["id"] = 7
        #expect(throws: UnreadableMessage(id: nil, reason: .mistyped("id"))) {
            try BoardMessage(parsing: JSONValue.object(json).bytes)
        }
    }

    @Test("need the time in exactly six kinds of request")
    func clock() throws {
        let needing = try Sample.boardMessages.filter { sample in
            try BoardMessage(parsing: sample.bytes).body.needsClock
        }
        #expect(needing.map(\.description) == [
            "session.authenticate", "session.refresh", "session.list", "user.get",
            "configuration.save", "configuration.get",
        ])
    }

    @Test("bound the texts that people are shown")
    func bounds() throws {
        let long = JSONValue.string(String(repeating: "x", count: 10_000))
        let revoked = try AuthorityMessage(
            parsing: Sample.revoked.bytes(Member("reason", .text), long))
        guard case .revoked(_, _, let reason) = revoked.body else { return }
        #expect(reason.count == 64)
        let reply = try AuthorityMessage(
            parsing: Sample.errorReply.bytes(Member("error.error", .text), long))
        guard case .reply(let reply) = reply.body, case .error(let refusal) = reply.outcome
        else { return }
        #expect(refusal.text.count == 500)
    }

    @Test("carry 64 KiB of configuration, and no more")
    func configuration() throws {
        let sample = try #require(
            Sample.boardMessages.first { $0.description == "configuration.save" })
        let routes = Member("routes", .text)
        let room = BoardConfiguration.sizeLimit - #""default = \"deny\"\n""#.utf8.count
        let largest = sample.bytes(routes, .string(String(repeating: "#", count: room - 2)))
        #expect(try sample.copy(largest) == largest)
        let escaped = String(repeating: "\"", count: room / 2)
        for text in [String(repeating: "#", count: room - 1), escaped] {
            #expect(throws: WireError.tooLarge(limit: BoardConfiguration.sizeLimit)) {
                try sample.copy(sample.bytes(routes, .string(text)))
            }
        }
    }

    @Test("tell a peer which member is wrong, and by which number", arguments: [
        (WireError.notJSON, 107), (.missing("x"), 142), (.mistyped("x"), 111),
        (.tooLarge(limit: 1), 116),
    ])
    func refusals(error: WireError, code: Int) {
        #expect(error.refusal.code == code)
    }
}
