import Sessions
import Testing
import Wire

@Suite("Rejections on the bus")
struct RejectionNoticeTests {
    private func id() throws -> MessageID { try #require(MessageID(Example.id)) }

    private func notice(topic: String = "t", field: String? = "at.lat") -> RejectionNotice {
        RejectionNotice(
            code: 111, error: "the rule expects number here", rule: "policy.toml:14",
            className: "Reading", operation: "create", topic: topic, field: field)
    }

    @Test("have the contract's members, and the field where one decided")
    func members() throws {
        let json = try JSONObject(parsing: notice().payload(id: try id()))
        #expect(json.members == [
            "code": 111, "error": "the rule expects number here", "rule": "policy.toml:14",
            "class": "Reading", "op": "create", "topic": "t", "id": .string(Example.id),
            "field": "at.lat",
        ])
        let bare = try JSONObject(parsing: notice(field: nil).payload(id: try id()))
        #expect(bare.members["field"] == nil)
        #expect(bare.members.count == 7)
    }

    @Test("are summarized as the last of them with their number")
    func summary() throws {
        let json = try JSONObject(parsing: notice().payload(id: try id(), count: 93))
        #expect(try json.integer("count") == 93)
        #expect(try json.string("error")
            == "93 more refused within a second and not told singly; "
            + "the last: the rule expects number here")
        #expect(json.members.count == 9)
    }

    @Test("cut what is longer than any well-formed write has", arguments: ["x", "ü", "\u{1F600}"])
    func cut(letter: String) throws {
        let long = String(repeating: letter, count: 5000)
        let json = try JSONObject(
            parsing: notice(topic: "a" + long, field: long).payload(id: try id()))
        #expect((510...516).contains(try json.string("topic").utf8.count))
        #expect((254...260).contains(try json.string("field").utf8.count))
    }

    @Test("of a malformed topic repeat what stands for operation and class", arguments: [
        ("postern/app/a/create/Read ing", "create", "Read ing"),
        ("postern/app/a/update/Reading/x/y/z", "update", "Reading"),
        ("postern/app/a/create", "create", ""), ("postern/app/a/get/token", "get", ""),
        ("postern/app/a", "", ""), ("", "", ""),
    ])
    func stated(topic: String, operation: String, className: String) {
        let stated = BusTopic.stated(in: topic)
        #expect(stated.operation == operation)
        #expect(stated.className == className)
    }

    @Test("are counted by app and rule; a count is read as it was printed")
    func counts() throws {
        let count = RefusalCount(app: "thermo", rule: "policy.toml:14", count: 7)
        #expect(try RefusalCount(json: JSONObject(try #require(count.json.asObject))) == count)
        var health = HealthNotice(
            up: true, pid: 1, time: Timestamp(milliseconds: 0), uplink: "connected")
        #expect(health.json.asObject?["refusals"] == .array([]))
        health.refusals = [count]
        #expect(health.json.asObject?["refusals"] == .array([count.json]))
    }
}
