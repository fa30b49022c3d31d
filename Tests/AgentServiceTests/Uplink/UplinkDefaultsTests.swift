import Sessions
import Testing
import Wire

@testable import AgentCore
@testable import AgentService

@Suite("Uplink defaults")
struct UplinkDefaultsTests {
    @Test("have a learned CA only at the learned place", arguments: [
        ("mqtts://there.example", "mqtts://there.example", "pem"),
        ("mqtt://127.0.0.1:1", "mqtt://127.0.0.1:1", "pem"),
        ("mqtt://there.example", "mqtts://here.example", nil),
        ("nonsense", "mqtts://here.example", nil),
        (nil, "mqtts://here.example", nil),
    ] as [(String?, String, String?)])
    func place(learned: String?, uri: String, ca: String?) throws {
        let defaults = UplinkDefaults(
            uri: try BrokerURI("mqtts://here.example"), caFile: nil, learnedCAFile: "/nowhere",
            knownBrokerFile: "/nowhere", allowsPlainText: false)
        let place = defaults.place(of: UplinkLogin(
            uri: learned, ca: "pem", clientID: "c", username: "u", password: SecretBytes([1]),
            will: ("t", [])))
        #expect("\(place.uri)" == uri)
        #expect(place.ca == ca)
    }
}
