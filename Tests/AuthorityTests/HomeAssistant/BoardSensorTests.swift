import Gate
import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("A board's sensor in Home Assistant")
struct BoardSensorTests {
    static let board = InstallationID("3f1f7c0e-2b7a-4d4e-9c55-0123456789ab")!
    private let info = AuthorityInfo(
        name: "Home", applicationID: "postern", publicURL: "https://authority.example",
        topicRoot: .standard, version: "1.2")

    private func sensor(
        _ field: String, unit: String? = nil, of className: String = "Reading",
        record: String? = nil
    ) throws -> BoardSensor? {
        BoardSensor(
            board: Self.board, className: try #require(ClassName(className)),
            record: try record.map { try #require(RecordID($0)) }, field: field,
            unit: try unit.map { try #require(FieldUnit($0)) })
    }

    private func configuration(
        _ field: String, unit: String? = nil, record: String? = nil, named name: String = "b"
    ) throws -> [String: JSONValue] {
        let sensor = try #require(try sensor(field, unit: unit, record: record))
        let bytes = sensor.configuration(named: name, by: info).bytes
        #expect(bytes.count < 2048)
        return try JSONObject(parsing: bytes).members
    }

    @Test("is announced on a topic of its board, with the topics that it reads")
    func message() throws {
        let id = try #require(try sensor("celsius")).id
        let topic = BoardSensor.topic(id, of: Self.board, below: .homeAssistant)
        #expect(topic == "homeassistant/sensor/\(Self.board)/Reading-celsius/config")
        let members = try configuration("celsius", unit: "°C", named: "greenhouse")
        let own = "postern/v1/\(Self.board)"
        for (name, value) in [
            "name": "Reading celsius", "unique_id": "postern_\(Self.board)_Reading-celsius",
            "state_topic": "\(own)/data/Reading/create/#", "availability_topic": "\(own)/status",
            "unit_of_measurement": "°C", "device_class": "temperature",
            "state_class": "measurement",
        ] { #expect(members[name] == .string(value), "\(name)") }
        #expect(members["device"]?.asObject?["name"] == .string("greenhouse"))
        #expect(members["origin"]?.asObject?["sw_version"] == .string("1.2"))
        let lamp = try configuration("level", record: "lamp-1")
        #expect(lamp["name"] == .string("Reading lamp-1 level"))
        #expect(lamp["state_topic"] == .string("\(own)/data/Reading/update/lamp-1/#"))
        #expect(lamp["unit_of_measurement"] == nil && lamp["device_class"] == nil)
    }

    @Test("reads its own member of a payload, and a bare number if it is named value")
    func template() throws {
        let nested = try #require(try sensor("room.celsius")).template
        #expect(nested == "{% set v = value_json %}"
            + "{% set v = v.get('room') if v is mapping else none %}"
            + "{% set v = v.get('celsius') if v is mapping else none %}"
            + "{{ v if v is number and v is not boolean else '' }}")
        #expect(try #require(try sensor("value")).template.contains("is mapping else v %}"))
    }

    @Test("has the quantity that its unit means", arguments: [
        ("x", "°C", "temperature"), ("x", "lx", "illuminance"), ("x", "hPa", "pressure"),
        ("humidity", "%", "humidity"), ("soil_moisture", "%", "moisture"),
        ("batteryLevel", "%", "battery"), ("load", "%", nil), ("co2", "ppm", "carbon_dioxide"),
        ("x", "ppm", nil), ("x", "widgets", nil), ("x", "kWh", "energy"),
    ])
    func quantity(field: String, unit: String, quantity: String?) throws {
        let members = try configuration(field, unit: unit)
        #expect(members["device_class"] == quantity.map(JSONValue.string))
        #expect(members["state_class"]
            == .string(quantity == "energy" ? "total_increasing" : "measurement"))
    }

    @Test("does not exist for a name that is more than a name", arguments: [
        "", ".", "a.", ".a", "a..b", "a b", "a'b", "a\"b", "a{{7*7}}", "a%}", "a/b", "a+", "#",
        "a\nb", "1a", "_a", "ä", "a.b.c.d.e", String(repeating: "a", count: 65),
    ])
    func hostileField(field: String) throws { #expect(try sensor(field) == nil) }

    @Test("keeps any name of its board inside a text", arguments: [
        "\"},{\"", "{{ 7 * 7 }}\n{% x %}", "~x", "\u{202e}\u{0}", "ä\\",
    ])
    func hostileBoard(name: String) throws {
        let members = try configuration("celsius", named: name)
        #expect(members["device"]?.asObject?["name"] == .string(name))
        for (key, value) in members where key != "device" {
            #expect(value == (try configuration("celsius"))[key], "\(key)")
        }
    }

    @Test("has an id that no other sensor of its board has, in one topic level")
    func ids() throws {
        let ids = try [
            sensor("a-b"), sensor("a_b"), sensor("a.b"), sensor("a_2db"), sensor("a"),
            sensor("b", record: "a"), sensor("a", of: "Reading_"), sensor("x", record: "a-b"),
            sensor("b-x", record: "a"),
        ].map { try #require($0).id.description }
        #expect(Set(ids).count == ids.count)
        #expect(ids[0] == "Reading-a_2db" && ids[3] == "Reading-a_5f2db")
        for id in ids {
            #expect(SensorID(id)?.description == id)
            #expect(id.utf8.allSatisfy { "_-".utf8.contains($0) || (0x30...0x7a).contains($0) })
        }
        let long = String(repeating: "_", count: 62)
        #expect(try sensor("a" + long, record: "a" + long) == nil)
        for text in ["", "a/b", "+", "a b", "ä", String(repeating: "a", count: 201)] {
            #expect(SensorID(text) == nil, "\(text)")
        }
    }
}
