import Gate
import Sessions
import Testing
import Wire

@Suite("Topic reading")
struct TopicReadingTests {
    @Test("says what a topic of the bus asks the gate", arguments: [
        ("postern/app/thermo/create/Reading", "thermo create Reading"),
        ("postern/app/thermo/update/Reading/x1", "thermo update Reading x1"),
        ("postern/app/thermo/create/_User", "thermo create _User"),
        ("postern/app/thermo/create/Rea+ding", "103 builtin:topic"),
        ("postern/app/thermo/update/Reading", "105 builtin:topic"),
        ("postern/app/Thermo/create/Reading", "105 builtin:topic"),
        ("postern/app/thermo/get/session", "thermo session"),
        ("postern/app/thermo/get/session/Session001", "thermo session Session001"),
        ("postern/app/thermo/answer/6f0f2ab1-8b3c-4f5e-9a55-0d2c4a1f9e11",
         "thermo answers 6f0f2ab1-8b3c-4f5e-9a55-0d2c4a1f9e11"),
        ("postern/app/thermo/answer/1", "thermo asks nothing"),
        ("postern/app/thermo/answer", "thermo asks nothing"),
        ("postern/app/thermo/answer/6f0f2ab1-8b3c-4f5e-9a55-0d2c4a1f9e11/x", "thermo asks nothing"),
        ("postern/app/thermo/command", "thermo asks nothing"),
        ("postern/app/thermo/rejected", "thermo asks nothing"),
        ("postern/app/thermo/upsert/Reading", "thermo asks nothing"),
        ("postern/app/thermo", "thermo asks nothing"), ("postern/app/Thermo", "ignored"),
        ("postern/session", "ignored"), ("zigbee2mqtt/lamp", "zigbee create Light"),
        ("zigbee2mqtt/lamp/set", "ignored"), ("", "ignored"),
    ])
    func reading(topic: String, expected: String) throws {
        let route = Route(
            line: 1, from: try #require(TopicFilter("zigbee2mqtt/+")),
            app: try #require(AppName("zigbee")), className: try #require(ClassName("Light")),
            operation: .create)
        let found = switch TopicReading(topic, routes: RouteTable([route])) {
        case .write(let write):
            "\(write.app) \(write.operation.rawValue) \(write.className)"
                + (write.record.map { " \($0)" } ?? "")
        case .refused(_, let rejection): "\(rejection.code.rawValue) \(rejection.rule)"
        case .answer(let app, let id): "\(app) answers \(id)"
        case .query(let app, let query, let id): "\(app) \(query)" + (id.map { " \($0)" } ?? "")
        case .noRequest(let app): "\(app) asks nothing"
        case .ignored: "ignored"
        }
        #expect(found == expected)
    }
}
