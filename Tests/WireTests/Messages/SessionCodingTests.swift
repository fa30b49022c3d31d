import Gate
import Sessions
import Testing
import Wire

@Suite("Session and user as JSON")
struct SessionCodingTests {
    private func object(_ json: JSONValue) throws -> JSONObject {
        JSONObject(try #require(json.asObject))
    }

    @Test("custom fields are kept as they came")
    func custom() throws {
        let session = try Session(json: try object(Example.session))
        #expect(session.json == Example.session)
        #expect(session.custom.keys.sorted() == ["room", "tags"])
        let user = try UserProfile(json: try object(Example.user))
        #expect(user.json == Example.user)
        #expect(user.custom == ["language": "en"])
    }

    @Test("a session without an end or an installation says null")
    func nothing() throws {
        var json = try object(Example.session)
        json.members["expiresAt"] = nil
        json.members["installationId"] = .null
        let session = try Session(json: json)
        #expect(session.expiresAt == nil)
        let printed = try object(session.json)
        #expect(printed.members["expiresAt"] == .null)
        #expect(printed.members["installationId"] == .null)
        #expect(try Session(json: printed) == session)
    }

    @Test("no token is read, kept or printed", arguments: [
        "sessionToken", "accessToken", "refreshToken",
    ])
    func tokens(name: String) throws {
        var json = try object(Example.session)
        json.members[name] = "r:leak-9Qk"
        var session = try Session(json: json)
        #expect(!session.json.text.contains("leak-9Qk"))
        session.custom[name] = "r:leak-9Qk"
        #expect(!session.json.text.contains("leak-9Qk"))
        let notice = SessionNotice(.available(session, validatedAt: session.createdAt))
        #expect(!String(decoding: notice.payload, as: UTF8.self).contains("leak-9Qk"))
    }

    @Test("no secret of a user is read or printed", arguments: [
        "password", "sessionToken", "authData",
    ])
    func userSecrets(name: String) throws {
        var json = try object(Example.user)
        json.members[name] = "leak-9Qk"
        #expect(try UserProfile(json: json).json == Example.user)
    }

    @Test("a custom field cannot stand for one of the contract's")
    func shadowing() throws {
        var session = try Session(json: try object(Example.session))
        session.custom["restricted"] = .bool(false)
        session.custom["objectId"] = "Other00001"
        #expect(session.json == Example.session)
    }

    private static let badRanges: [JSONValue] = [
        [5], [5, 6, 7], [7, 5], [0, 1], [-3, 1], [.null, 1], ["1", 2], [.number(1.5), 2],
    ].map { .array([.array($0)]) } + [
        .array([.array([4, 6]), .array([6, 9])]), .array([.array([9, 9]), .array([1, 2])]),
        .array((1...1025).map { .array([.integer($0 * 2), .integer($0 * 2)]) }), .array([7]),
    ]

    @Test("a board's status prints what it was parsed from")
    func status() throws {
        let status = BoardStatus(
            up: true, available: false, version: "1.0", since: Timestamp(milliseconds: 5000),
            gaps: AnnouncedGaps(total: 9, ranges: [3...3, 7...14]), queue: 12, refused: 0)
        #expect(try BoardStatus(parsing: status.payload) == status)
        let sample = Sample(
            description: "status",
            json: ["status": "up", "session": "available", "version": "1", "since": Example.time],
            members: [
                Member("status", .text, refuses: ["", "UP"]),
                Member("session", .text, refuses: ["", "gone"]),
                Member("version", .text, refuses: ["\u{0}x", "1\n", "\u{7F}", "\u{9B}"]),
                Member("since", .time), Member("gaps", .integer, optional: true),
                Member("gapRanges", .list, optional: true, refuses: Self.badRanges),
                Member("queue", .integer, optional: true, refuses: [-1]),
                Member("refused", .integer, optional: true, refuses: [-1]),
            ]
        ) { bytes throws(WireError) in try BoardStatus(parsing: bytes).payload }
        // An older board tells neither, and is not taken for one that has nothing to tell.
        let older = try BoardStatus(parsing: sample.bytes)
        #expect(older.queue == nil && older.refused == nil)
        for member in sample.members {
            for value in member.refused {
                #expect(throws: WireError.mistyped(member.name)) {
                    try sample.copy(sample.bytes(member, value))
                }
            }
        }
    }

    @Test("a session's state is told with its reason and number",
    arguments: UnavailableReason.allCases)
    func unavailable(reason: UnavailableReason) throws {
        let json = try JSONObject(parsing: SessionNotice(.unavailable(reason)).payload)
        #expect(json.members == [
            "state": "unavailable", "reason": .string(reason.rawValue),
            "code": .integer(reason == .unclaimed ? 206 : 209),
        ])
    }

    @Test("dates are printed as Parse does, and read back", arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_827_696_789, "2000-02-29T12:34:56.789Z"),
        (1_320_699_514_448, "2011-11-07T20:58:34.448Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ] as [(Int64, String)])
    func dates(milliseconds: Int64, text: String) {
        #expect(ParseDate.print(Timestamp(milliseconds: milliseconds)) == text)
        #expect(ParseDate.parse(text)?.milliseconds == milliseconds)
    }

    @Test("what is no date is refused", arguments: [
        "", "1969-12-31T23:59:59.999Z", "2100-02-29T00:00:00.000Z", "2000-13-01T00:00:00.000Z",
        "2000-00-01T00:00:00.000Z", "2000-01-32T00:00:00.000Z", "2000-01-01T24:00:00.000Z",
        "2000-01-01T00:60:00.000Z", "2000-01-01T00:00:00Z", "2000-01-01 00:00:00.000Z",
        "2000-01-01T00:00:00.000z", "２000-01-01T00:00:00.00Z", "0000-00-00T00:00:00.000Z",
    ])
    func noDates(text: String) {
        #expect(ParseDate.parse(text) == nil)
    }
}

@Suite("Scope")
struct ScopeDocumentTests {
    private func scope(_ text: String) throws -> Scope {
        try Scope(ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8))))
    }

    @Test("reads the policy file's rules as JSON")
    func reads() throws {
        let scope = try scope("""
            {"default":"deny","rules":[
              {"app":"thermo","class":"Reading","allow":["create","update"],
               "fields":{"celsius":"number","unit":"string?"},"max_bytes":"4 KiB"},
              {"class":"*","allow":[],"max_bytes":16}],
             "topics":["house/+/x","a/#"],"future":1}
            """)
        #expect(!scope.allowsByDefault)
        #expect(scope.rules.map(\.id) == [.scope(1), .scope(2)])
        #expect(scope.rules[0].app == AppName("thermo"))
        #expect(scope.rules[0].className == ClassName("Reading"))
        #expect(scope.rules[0].allow == [.create, .update])
        #expect(scope.rules[0].fields?.mapValues(\.description)
            == ["celsius": "number", "unit": "string?"])
        #expect(scope.rules[0].maxBytes == ByteCount(bytes: 4096))
        #expect(scope.rules[1].app == nil)
        #expect(scope.rules[1].className == nil)
        #expect(scope.rules[1].allow == [])
        #expect(scope.rules[1].maxBytes == ByteCount(bytes: 16))
        #expect(scope.topics.map { "\($0)" } == ["house/+/x", "a/#"])
    }

    @Test("an empty one allows what the contract leaves")
    func empty() throws {
        let scope = try scope("{}")
        #expect(scope == Scope(allowsByDefault: true, rules: [], topics: []))
    }

    @Test("nests its fields as the policy file does")
    func nested() throws {
        let scope = try scope("""
            {"rules":[{"class":"A","allow":["create"],"fields":{
              "at":{"lat":"number(-90..90)"},"samples?":[{"t":"integer"}]}}]}
            """)
        let sample = ValueType.object(FieldRules(["t": try FieldType("integer")]))
        #expect(scope.rules[0].fields == [
            "at": FieldType(fields: ["lat": try FieldType("number(-90..90)")]),
            "samples": FieldType(.array(sample, .any), isOptional: true),
        ])
    }

    @Test("is an error as a whole for any fault in it", arguments: [
        ("{\"default\":\"Allow\"}", .mistyped("default")), ("{\"default\":1}",
        .mistyped("default")),
        ("{\"rules\":{}}", .mistyped("rules")), ("{\"rules\":[1]}", .mistyped("rules")),
        ("{\"rules\":[{\"allow\":[]}]}", .missing("class")),
        ("{\"rules\":[{\"class\":\"_User\",\"allow\":[\"create\"]}]}", .mistyped("class")),
        ("{\"rules\":[{\"class\":\"_Future\",\"allow\":[]}]}", .mistyped("class")),
        ("{\"rules\":[{\"class\":\"Re*\",\"allow\":[]}]}", .mistyped("class")),
        ("{\"rules\":[{\"class\":\"A\"}]}", .missing("allow")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":\"create\"}]}", .mistyped("allow")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[\"read\"]}]}", .mistyped("allow")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[1]}]}", .mistyped("allow")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"app\":\"A B\"}]}", .mistyped("app")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"fields\":[]}]}", .mistyped("fields")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"fields\":{\"a\":\"float\"}}]}",
         .mistyped("fields")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"fields\":{\"a\":[{},{}]}}]}",
         .mistyped("fields")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"fields\":{\"a\":{\"b\":1}}}]}",
         .mistyped("fields")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"fields\":{\"_a\":\"any\"}}]}",
         .mistyped("fields")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"max_bytes\":-1}]}", .mistyped("max_bytes")),
        ("{\"rules\":[{\"class\":\"A\",\"allow\":[],\"max_bytes\":\"4 KB\"}]}",
         .mistyped("max_bytes")),
        ("{\"topics\":\"a\"}", .mistyped("topics")), ("{\"topics\":[1]}", .mistyped("topics")),
        ("{\"topics\":[\"a/#/b\"]}", .mistyped("topics")), ("{\"topics\":[\"\"]}",
        .mistyped("topics")),
        ("[]", .mistyped("scope")),
    ] as [(String, WireError)])
    func faults(text: String, error: WireError) {
        #expect(throws: error) { try scope(text) }
    }

    @Test("has a bounded number of rules")
    func bound() throws {
        let rule = "{\"class\":\"A\",\"allow\":[]}"
        let many = Array(repeating: rule, count: 1001).joined(separator: ",")
        #expect(throws: WireError.mistyped("rules")) { try scope("{\"rules\":[\(many)]}") }
    }
}
