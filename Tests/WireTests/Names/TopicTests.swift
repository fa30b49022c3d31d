import Gate
import Sessions
import Testing
import Wire

@Suite("Topics of the contract")
struct ContractTopicTests {
    static let base = "postern/v1/\(Example.board)"

    @Test("print what they were parsed from", arguments: [
        "\(base)/inbox", "\(base)/outbox", "\(base)/status", "\(base)/data/Reading/create",
        "\(base)/data/Reading/create/further", "\(base)/data/Reading/create/a b/\u{301}c/d",
        "\(base)/data/Reading/update/abc/further", "\(base)/data/_User/delete/x/_User/create",
        "\(base)/data/Reading/create/\(String(repeating: "a/", count: 79))ab",
        "\(base)/data/Reading/update/abc", "\(base)/data/Reading/delete/A-_9",
        "\(base)/data/_User/create", "\(base)/data/_Session/delete/x",
        "\(base)/data/\(String(repeating: "C", count: 128))/create",
    ])
    func inverse(text: String) throws {
        let topic = try #require(ContractTopic(text, under: .standard))
        #expect(topic.text(under: .standard) == text)
        #expect(topic.board.description == Example.board)
        let root = try #require(TopicRoot("house/Kitchen"))
        #expect(ContractTopic(topic.text(under: root), under: root) == topic)
        #expect(ContractTopic(text, under: root) == nil)
    }

    @Test("are refused when anything in them is off", arguments: [
        "", "/", "postern/v1", "postern/v1/", base, "\(base)/", "\(base)/inbox/", "\(base)//inbox",
        "/\(base)/inbox", "\(base)/Inbox", "\(base)/inbox\0", "\(base)/inbox/#", "\(base)/+",
        "postern/v1/+/inbox", "postern/v2/\(Example.board)/inbox",
        "postern/v1x/\(Example.board)/inbox",
        "postern/v1/\(Example.board.uppercased())/inbox", "$share/a/\(base)/inbox",
        "\(base)/data", "\(base)/data/Reading", "\(base)/data/Reading/create/",
        "\(base)/data/Reading/create/x/", "\(base)/data/Reading/create/x//y",
        "\(base)/data/Reading/create/+", "\(base)/data/Reading/create/x/#",
        "\(base)/data/Reading/create/x\0", "\(base)/data/Reading/create\u{301}/x",
        "\(base)/data/Reading/create/\(String(repeating: "a", count: 161))",
        "\(base)/data/Reading/update", "\(base)/data/Reading/update/", "\(base)/data//create",
        "\(base)/data/Reading/update//b", "\(base)/data/Reading/read",
        "\(base)/data/Reading/Create",
        "\(base)/data/_User/../create", "\(base)/data/Read ing/create", "\(base)/data/+/create",
        "\(base)/data/#", "\(base)/data/Rеading/create", "\(base)/data/Reading\0/create",
        "\(base)/data/Reading/update/a+", "\(base)/data/Reading/update/\u{301}a",
        "\(base)/data/\(String(repeating: "C", count: 200))/create",
        "\(base)/data/Reading/update/\(String(repeating: "r", count: 65))",
        "\(base)/inbox" + String(repeating: "x", count: 512),
    ])
    func refusals(text: String) {
        #expect(ContractTopic(text, under: .standard) == nil)
    }

    @Test("begin at a root of 1 to 8 plain levels", arguments: [
        ("postern/v1", true), ("a", true), ("a/b/c/d/e/f/g/h", true), ("", false), ("/a", false),
        ("a/", false), ("a//b", false), ("a/b/c/d/e/f/g/h/i", false), ("+", false), ("a/#", false),
        ("$SYS", false), ("a b", false), ("ä", false), ("a\0", false),
        (Array(repeating: String(repeating: "x", count: 50), count: 2).joined(separator: "/"),
        false),
    ])
    func roots(text: String, isOne: Bool) {
        #expect(TopicRoot(text)?.description == (isOne ? text : nil))
    }

    @Test("name a record exactly for updates and deletes")
    func records() throws {
        let name = try #require(ClassName("Reading"))
        let record = try #require(RecordID("x"))
        for operation in Operation.allCases {
            let isCreate = operation == .create
            #expect((RecordPath(className: name, operation: operation,
            record: nil) != nil) == isCreate)
            #expect((RecordPath(className: name, operation: operation,
            record: record) == nil) == isCreate)
        }
    }
}

@Suite("Topics of the bus")
struct BusTopicTests {
    static let app = "postern/app/thermo"

    @Test("are a write of a class", arguments: [
        ("create/Reading", "Reading/create"), ("update/Reading/x1", "Reading/update/x1"),
        ("delete/Reading/-_", "Reading/delete/-_"), ("create/_User", "_User/create"),
        ("delete/_Role/a", "_Role/delete/a"),
    ])
    func writes(rest: String, levels: String) throws {
        guard case .write(let app, let path) = BusRequest("\(Self.app)/\(rest)") else {
            Issue.record("\(rest) is no write")
            return
        }
        #expect(app.description == "thermo")
        #expect(path.dataLevels == levels)
    }

    @Test("are one of three reads", arguments: BusQuery.allCases)
    func reads(query: BusQuery) throws {
        let app = try #require(AppName("thermo"))
        #expect(BusRequest("\(Self.app)/get/\(query.rawValue)") == .read(app, query, of: nil))
    }

    @Test("say what is malformed in them", arguments: [
        ("create", 103), ("create/", 103), ("create/_", 103), ("create/__User", 103), ("create/1a",
        103),
        ("create/_User/../x", 105), ("create/User\0", 103), ("create/_User\0", 103),
        ("create/+", 103), ("create/#", 103), ("create/Reading/x", 105),
        ("create/\(String(repeating: "C", count: 200))", 103), ("create/_Usеr", 103),
        ("create/＿User", 103), ("create/_\u{200B}User", 103), ("create/ſession", 103),
        ("create/_User ", 103), ("create/_User/", 105), ("create//", 103),
        ("update/Reading", 105), ("update/Reading/", 105), ("update/Reading/a/b", 105),
        ("update/_User/../x", 105), ("update/Reading/+", 105), ("update/Reading/#", 105),
        ("update/Reading/a\0", 105), ("delete/Reading/\(String(repeating: "r", count: 65))", 105),
        ("delete/Read/ing/x", 105), ("get/", 101), ("get/token", 101), ("get/session/x", 101),
        ("get/user/Session001", 101), ("get/session/Session001/x", 101), ("get", 101),
        ("get/Session", 101),
    ])
    func malformed(rest: String, code: Int) throws {
        guard case .malformed(let app, let refusal) = BusRequest("\(Self.app)/\(rest)") else {
            Issue.record("\(rest) is not malformed")
            return
        }
        #expect(app?.description == "thermo")
        #expect(refusal.code == code)
    }

    @Test("name no app that could be another's", arguments: [
        "Thermo", "", "-a", "a_b", "a.b", "+", "#", "..", "thermo\0", "thеrmo",
        String(repeating: "a", count: 33),
    ])
    func apps(name: String) {
        guard case .malformed(let app,
        let refusal) = BusRequest("postern/app/\(name)/create/Reading")
        else {
            Issue.record("\(name) passed for an app")
            return
        }
        #expect(app == nil)
        #expect(refusal.is(.badKeyName))
    }

    @Test("are not read where they are nobody's request", arguments: [
        "", "/", "postern", "postern/session", "postern/health", "postern/app/thermo",
        "postern/app/thermo/rejected/x", "postern/app/thermo/answers/1",
        "Postern/app/thermo/create/Reading", "/postern/app/thermo/create/Reading",
        "postern/apps/thermo/create/Reading", "$SYS/app/thermo/create/Reading",
        "postern/app/thermo/Create/Reading",
    ])
    func nobodys(topic: String) {
        #expect(BusRequest(topic) == nil)
    }

    @Test("carry an answer only within the app's own folder", arguments: [
        ("postern/app/thermo/answers", true), ("postern/app/thermo/a/b/c", true),
        ("postern/app/thermo/rejected", true), ("postern/app/thermo/created", true),
        ("postern/app/thermo/", false), ("postern/app/thermo", false), ("", false),
        ("postern/app/thermo//x", false), ("postern/app/thermo/create/Reading", false),
        ("postern/app/thermo/update/R/x", false), ("postern/app/thermo/delete/R/x", false),
        ("postern/app/thermo/get/session", false), ("postern/app/thermo/create", false),
        ("postern/app/thermo/a/+", false), ("postern/app/thermo/#", false),
        ("postern/app/thermo/a\0", false), ("postern/app/other/x", false),
        ("postern/app/thermo2/x", false), ("postern/session", false), ("postern/health", false),
        ("/postern/app/thermo/x", false), ("Postern/app/thermo/x", false),
        ("postern/app/thermo/" + String(repeating: "x", count: 600), false),
    ])
    func responses(topic: String, isOne: Bool) throws {
        let app = try #require(AppName("thermo"))
        #expect(BusTopic.isResponse(topic, for: app) == isOne)
    }

    @Test("of the agent itself are fixed")
    func fixed() throws {
        let app = try #require(AppName("thermo"))
        #expect(BusTopic.rejected(app) == "postern/app/thermo/rejected")
        #expect(BusTopic.requests == ["postern/app/+/+/+/#"])
        #expect(BusTopic.strays == ["postern/app/+", "postern/app/+/+"])
        // A broker may deliver a message once for each filter, so no two filters overlap.
        let filters = try (BusTopic.requests + BusTopic.strays).map {
            try #require(TopicFilter($0))
        }
        for (index, filter) in filters.enumerated() {
            #expect(!filters[(index + 1)...].contains { $0.overlaps(filter) })
        }
    }

    @Test("of refusals differ from an app's other topics", arguments: [
        ("postern/app/thermo/rejected", true), ("postern/app/thermo/x/rejected", false),
        ("postern/app/rejected", false), ("postern/app/thermo/unrejected", false),
        ("postern/app/thermo/rejected/x", false), ("other/app/thermo/rejected", false),
    ])
    func rejected(topic: String, isOne: Bool) {
        #expect(BusTopic.isRejected(topic) == isOne)
    }
}
