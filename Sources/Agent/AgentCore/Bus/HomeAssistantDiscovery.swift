import Gate
import Sessions
package import Wire

/// What Home Assistant is told, so that it shows this board without being configured.
///
/// Each sensor is one retained message on the board's own bus, and reads topics that are there
/// anyway. Source: Home Assistant, MQTT integration, MQTT Discovery.
package enum HomeAssistantDiscovery: Equatable, Sendable {
    /// Sensors stand below this topic.
    case announced(below: TopicRoot)
    /// Those announced before are taken back, by empty retained messages.
    case withdrawn(below: TopicRoot)
}

extension Agent {
    /// At each connect: what is retained may be of another release, or gone with the broker.
    mutating func tellHomeAssistant() {
        guard let discovery = settings.discovery else { return }
        let board = HomeAssistantBoard(
            installation: records.identity.installation, name: settings.name,
            version: settings.version)
        for sensor in HomeAssistantSensor.all {
            let (root, payload): (TopicRoot, [UInt8]) = switch discovery {
            case .announced(let root): (root, sensor.configuration(of: board).bytes)
            case .withdrawn(let root): (root, [])
            }
            emit(.publishBus(BusPublication(
                topic: sensor.topic(of: board, below: root), payload: payload, retain: true)))
        }
    }
}

/// The board, as Home Assistant's list of devices has it.
struct HomeAssistantBoard: Sendable {
    let installation: InstallationID
    let name: String
    let version: String

    /// Of this board alone, and no level of a topic more.
    var node: String { "postern_\(installation)" }

    var device: JSONValue {
        .object([
            "identifiers": .array([.string(node)]), "name": .string(name),
            "manufacturer": .string("Postern"), "model": .string("postern-agent"),
            "sw_version": .string(version),
        ])
    }
}

/// One sensor: which topic it reads, and what of it.
struct HomeAssistantSensor: Sendable {
    let component: String
    let object: String
    let name: String
    let topic: String
    let template: String
    /// What only this kind of sensor has.
    let more: [String: JSONValue]

    func topic(of board: HomeAssistantBoard, below root: TopicRoot) -> String {
        "\(root)/\(component)/\(board.node)/\(object)/config"
    }

    func configuration(of board: HomeAssistantBoard) -> JSONValue {
        var members: [String: JSONValue] = [
            "name": .string(name), "unique_id": .string("\(board.node)_\(object)"),
            "state_topic": .string(topic), "value_template": .string(template),
            "availability_topic": .string(BusTopic.health),
            "availability_template": .string("{{ value_json.status }}"),
            "payload_available": .string("up"), "payload_not_available": .string("down"),
            "device": board.device,
            "origin": .object([
                "name": .string("postern-agent"), "sw_version": .string(board.version),
            ]),
        ]
        members.merge(more) { $1 }
        return .object(members)
    }
}

extension HomeAssistantSensor {
    static let all = [session, expiry, queue, refused, uplink]

    /// `available`, or why not.
    private static let session = HomeAssistantSensor(
        component: "sensor", object: "session", name: "Session", topic: BusTopic.session,
        template: "{{ value_json.reason if value_json.state == 'unavailable' "
            + "else value_json.state }}",
        more: [
            "device_class": .string("enum"),
            "options": .array(
                [.string("available")]
                    + UnavailableReason.allCases.map { .string($0.rawValue) }),
            "icon": .string("mdi:shield-key"),
        ])

    /// "None" is what Home Assistant shows as unknown.
    private static let expiry = HomeAssistantSensor(
        component: "sensor", object: "expiry", name: "Session ends", topic: BusTopic.session,
        template: "{{ (value_json.session.expiresAt | as_datetime).isoformat() "
            + "if value_json.session is defined and value_json.session.expiresAt "
            + "else 'None' }}",
        more: [
            "device_class": .string("timestamp"), "entity_category": .string("diagnostic"),
        ])

    private static let queue = HomeAssistantSensor(
        component: "sensor", object: "queue", name: "Queue", topic: BusTopic.health,
        template: "{{ value_json.queue.messages }}",
        more: [
            "state_class": .string("measurement"), "unit_of_measurement": .string("messages"),
            "icon": .string("mdi:tray-full"),
        ])

    private static let refused = HomeAssistantSensor(
        component: "sensor", object: "refused", name: "Refused", topic: BusTopic.health,
        template: "{{ value_json.refused }}",
        more: [
            "state_class": .string("total_increasing"),
            "unit_of_measurement": .string("messages"), "icon": .string("mdi:shield-off"),
        ])

    private static let uplink = HomeAssistantSensor(
        component: "binary_sensor", object: "uplink", name: "Uplink", topic: BusTopic.health,
        template: "{{ 'ON' if value_json.uplink.startswith('connected') else 'OFF' }}",
        more: [
            "device_class": .string("connectivity"),
            "entity_category": .string("diagnostic"),
        ])
}
