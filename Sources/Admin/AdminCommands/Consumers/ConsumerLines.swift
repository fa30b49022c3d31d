import Sessions
import Wire

/// The text for a person who made a consumer: its login, then lines to paste into other programs.
///
/// The password is in files only, never in a command line.
struct ConsumerLines {
    private let made: MadeConsumer
    private var login: ConsumerLogin { made.login }
    /// For the examples: a board of the consumer, and a class.
    private let board: String
    private let className: String
    private static let caFile = "postern-ca.pem"

    init(_ made: MadeConsumer, board: String?, className: String?) {
        self.made = made
        self.board = board ?? "INSTALLATION-ID"
        self.className = className ?? "Reading"
    }

    func all(_ times: TimeText) -> [String] {
        let parts = [
            account(times), authority, mosquitto, homeAssistant, nodeRED, telegraf,
        ]
        return Array(parts.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private func account(_ times: TimeText) -> [String] {
        var lines = [
            "uri          \(login.uri)", "client id    \(login.clientID)",
            "username     \(login.username)", "password     \(made.password)",
        ]
        for (index, topic) in made.topics.enumerated() {
            lines.append((index == 0 ? "topics       " : "             ") + topic)
        }
        if let until = made.until { lines.append("ends         \(times.show(until))") }
        if let fingerprint = made.fingerprint { lines.append("CA           \(fingerprint)") }
        return lines
    }

    /// The CA as it is to be saved.
    private var authority: [String] {
        guard let ca = login.ca else { return [] }
        return ["# The CA to trust. Save it as \(Self.caFile):"]
            + ca.split(separator: "\n").map { Printable.line(String($0)) }
    }

    private var isEncrypted: Bool { login.uri.scheme == .mqtts }

    private var host: String { login.uri.host }

    /// Source: mosquitto_sub(1), Config File.
    private var mosquitto: [String] {
        let folder = "~/.config/postern-\(made.name)"
        var lines = [
            "# mosquitto_sub: save these lines as \(folder)/mosquitto_sub (mode 600), then run",
            "#   XDG_CONFIG_HOME=\(folder) mosquitto_sub -v",
            "-h \(host)", "-p \(login.uri.port)", "-i \(login.clientID)", "-u \(login.username)",
            "-P \(made.password)", "-q 1",
        ]
        if isEncrypted {
            lines.append(login.ca == nil ? "--capath /etc/ssl/certs" : "--cafile \(Self.caFile)")
        }
        return lines + topics.map { "-t \($0)" }
    }

    /// The topics without discovery messages, which only Home Assistant understands.
    private var topics: [String] { made.topics.filter { !Self.isDiscovery($0) } }

    private static func isDiscovery(_ topic: String) -> Bool { topic.hasSuffix("/config") }

    private var homeAssistant: [String] { homeAssistantLogin + homeAssistantSensors }

    private var homeAssistantLogin: [String] {
        var lines = [
            "# Home Assistant: add the integration MQTT, and open its advanced options:",
            "#   broker \(host), port \(login.uri.port), client ID \(login.clientID),",
            "#   user name and password as above",
        ]
        if isEncrypted {
            lines.append(login.ca == nil
                ? "#   broker certificate validation: automatic"
                : "#   broker certificate validation: custom, with \(Self.caFile)")
        }
        return lines
    }

    private var homeAssistantSensors: [String] {
        if let announced = made.topics.first(where: Self.isDiscovery) {
            // PREFIX/sensor/BOARD/SENSOR/config
            let prefix = announced.split(separator: "/").dropLast(4).joined(separator: "/")
            return [
                "#   discovery on, discovery prefix \(prefix)",
                "# The boards' numbers then appear as sensors, by themselves.",
            ]
        }
        return [
            "# In configuration.yaml, for each value; write your class and field:",
            "mqtt:", "  sensor:", "    - name: \"celsius\"",
            "      state_topic: \"\(root)/\(board)/data/\(className)/create\"",
            "      value_template: \"{{ value_json.celsius }}\"",
            "      availability_topic: \"\(root)/\(board)/status\"",
            "      availability_template: \"{{ value_json.status }}\"",
            "      payload_available: \"up\"", "      payload_not_available: \"down\"",
        ]
    }

    /// The first levels of the topics.
    private var root: String {
        let levels = (topics.last ?? "").split(separator: "/")
        return levels.dropLast(2).joined(separator: "/")
    }

    private var nodeRED: [String] {
        let broker: [String: JSONValue] = [
            "id": .string("postern-broker"), "type": .string("mqtt-broker"),
            "name": .string("Postern"), "broker": .string(host),
            "port": .string("\(login.uri.port)"), "clientid": .string(login.clientID),
            "usetls": .bool(isEncrypted), "protocolVersion": .string("5"),
            "credentials": .object([
                "user": .string(login.username), "password": .string(made.password),
            ]),
        ]
        let inputs = topics.enumerated().map { index, topic in
            JSONValue.object([
                "id": .string("postern-in-\(index)"), "type": .string("mqtt in"),
                "topic": .string(topic), "qos": .string("1"), "datatype": .string("json"),
                "broker": .string("postern-broker"), "wires": .array([.array([])]),
            ])
        }
        let trust = login.ca.map { _ in
            ["# Then give the broker node a TLS configuration with \(Self.caFile)."]
        } ?? []
        return ["# Node-RED: menu, Import, paste this:"]
            + [JSONValue.array([.object(broker)] + inputs).text] + trust
    }

    /// Source: Telegraf's plugin mqtt_consumer, Configuration.
    private var telegraf: [String] {
        let name = host.contains(":") ? "[\(host)]" : host
        let data = topics.filter { !$0.hasSuffix("/status") }
        var lines = [
            "# Telegraf: in /etc/telegraf/telegraf.d/postern.conf (mode 640, group telegraf):",
            "[[inputs.mqtt_consumer]]",
            "  servers = [\"\(isEncrypted ? "ssl" : "tcp")://\(name):\(login.uri.port)\"]",
            "  topics = [\(data.map { "\"\($0)\"" }.joined(separator: ", "))]",
            "  client_id = \"\(login.clientID)\"", "  username = \"\(login.username)\"",
            "  password = \"\(made.password)\"", "  qos = 1", "  data_format = \"json\"",
        ]
        if login.ca != nil { lines.append("  tls_ca = \"/etc/telegraf/\(Self.caFile)\"") }
        return lines
    }
}
