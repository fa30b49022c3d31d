import Testing
import Wire

@Suite("Broker address")
struct BrokerURITests {
    @Test("prints what it was parsed from", arguments: [
        "mqtt://broker.example", "mqtt://broker.example:1884", "mqtts://broker.example",
        "mqtts://10.0.0.1:1883", "mqtt://[::1]", "mqtts://[fe80::1]:9999",
        "unix:/run/mosquitto/postern.sock", "mqtt://my_host-1",
    ])
    func roundTrip(text: String) throws {
        let uri = try BrokerURI(text)
        #expect(uri.description == text)
        #expect(try BrokerURI(uri.description) == uri)
    }

    @Test("knows the ports that need no mention")
    func defaults() throws {
        #expect(try BrokerURI("mqtt://a").port == 1883)
        #expect(try BrokerURI("mqtts://a").port == 8883)
        #expect(try BrokerURI("mqtt://a:1883").description == "mqtt://a")
        #expect(try BrokerURI("unix:/x").path == "/x")
        #expect(try BrokerURI("mqtts://[2001:DB8::1]").host == "2001:db8::1")
        #expect(try BrokerURI("mqtt://Broker.Example") == BrokerURI("mqtt://broker.example"))
    }

    @Test("refuses what is no address of a broker", arguments: [
        "", "broker.example", "http://a", "mqtt:/a", "mqtt://", "mqtt://:1883", "mqtt://a:",
        "mqtt://a:0", "mqtt://a:65536", "mqtt://a:+1", "mqtt://a:1:2", "mqtt://u:p@a",
        "mqtt://a/topic", "mqtt://a?x", "mqtt://a#x", "mqtt://[::1", "mqtt://[]",
        "mqtt://[a.example]", "mqtt://[::1]x", "mqtt://::1", "unix:", "unix:x", "unix:/",
        "mqtt://a b", "mqtt://ä.example", "mqtt://a\0b", "MQTT://a", "unix:/a\0b",
        "unix:/" + String(repeating: "x", count: 107),
        "mqtt://" + String(repeating: "x", count: 254),
    ])
    func refusals(text: String) {
        #expect(throws: BrokerURI.ParseError.self) { try BrokerURI(text) }
    }

    @Test("tells loopback from the rest", arguments: [
        ("mqtt://localhost", true), ("mqtt://LOCALHOST", true), ("mqtt://127.0.0.1", true),
        ("mqtt://127.255.1.2", true), ("mqtt://[::1]", true), ("unix:/a", true),
        ("mqtt://128.0.0.1", false), ("mqtt://127.0.0.1.example", false),
        ("mqtt://0127.0.0.1", false), ("mqtt://localhost.example", false),
        ("mqtt://127.1", false), ("mqtt://[::]", false),
    ])
    func loopback(text: String, isLoopback: Bool) throws {
        #expect(try BrokerURI(text).isLoopback == isLoopback)
    }
}
