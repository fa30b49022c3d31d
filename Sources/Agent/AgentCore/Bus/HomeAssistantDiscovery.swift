import Gate
import Sessions
package import Wire

/// The discovery messages with which Home Assistant shows this board without configuration.
///
/// Each sensor is one retained message on the board's own bus. It reads topics that exist anyway.
/// Source: Home Assistant, MQTT integration, MQTT Discovery.
package enum HomeAssistantDiscovery: Equatable, Sendable {
    /// Sensors are announced below this topic.
    case announced(below: TopicRoot)
    /// Earlier announcements are removed with empty retained messages.
    case withdrawn(below: TopicRoot)
}

extension Agent {
    /// Publishes discovery at each connect. The retained messages may come from another release,
    /// or the broker may have lost them.
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

/// The board as a device in Home Assistant.
struct HomeAssistantBoard: Sendable {
    let installation: InstallationID
    let name: String
    let version: String

    /// A name that is unique to this board. It is one topic level.
    var node: String { "postern_\(installation)" }

    var device: JSONValue {
        .object([
            "identifiers": .array([.string(node)]), "name": .string(name),
            "manufacturer": .string("Postern"), "model": .string("postern-agent"),
            "sw_version": .string(version),
        ])
    }
}

/// One sensor: the topic that it reads, and the value that it takes.
struct HomeAssistantSensor: Sendable {
    let component: String
    let object: String
    let name: String
    let topic: String
    let template: String
    /// Members that only this kind of sensor has.
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

    /// `available`, or the reason why not.
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

    /// Home Assistant shows "None" as unknown.
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
