import Gate
package import Sessions
package import Wire

/// A number that a board sends, as a sensor of Home Assistant.
///
/// Class, field and unit come from an untrusted board, and the board's name from a person. Home
/// Assistant reads the topics and the templates as more than a text, so these contain only names in
/// a strict form. A field with any other name has no sensor.
///
/// Source: Home Assistant, MQTT integration, MQTT Discovery and MQTT Sensor.
package struct BoardSensor: Hashable, Sendable {
    package let id: SensorID
    let board: InstallationID
    let className: ClassName
    /// The object that updates name; nil for creates.
    let record: RecordID?
    /// The levels of `room.celsius`.
    let path: [String]
    let unit: FieldUnit?

    /// The most sensors of one board. Further numbers have none.
    package static let limit = 64
    /// The most sensors of all boards. One message has about a kilobyte in the broker's memory.
    package static let fleetLimit = 100_000
    /// The length of a field's path in bytes, as for units.
    private static let pathLimit = DeclaredUnits.pathLimit
    private static let levelLimit = 4
    /// A sensor whose last value is older is unavailable, in seconds. Home Assistant also restores
    /// the last value after its restart only if there is such a time.
    private static let expiry: Int64 = 2 * 86_400

    /// Nil if the field's name has another form than a policy could list, or is too long.
    init?(
        board: InstallationID, className: ClassName, record: RecordID?, field: String,
        unit: FieldUnit?
    ) {
        let path = field.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= Self.levelLimit, field.utf8.count <= Self.pathLimit,
            path.allSatisfy({ FieldType.nameFault($0) == nil }),
            let id = SensorID(
                naming: [className.description] + (record.map { [$0.description] } ?? []) + [field])
        else { return nil }
        (self.id, self.board, self.className, self.record) = (id, board, className, record)
        (self.path, self.unit) = (path, unit)
    }

    /// The topic of each sensor of one board, or of all boards.
    package static func topics(of board: InstallationID?, below prefix: TopicRoot) -> String {
        "\(prefix)/sensor/\(board?.description ?? "+")/+/config"
    }

    package static func topic(
        _ id: SensorID, of board: InstallationID, below prefix: TopicRoot
    ) -> String {
        "\(prefix)/sensor/\(board)/\(id)/config"
    }

    /// The value of the number, or an empty text, which Home Assistant ignores. So a text, a
    /// boolean or a missing member changes nothing there.
    var template: String {
        var text = "{% set v = value_json %}"
        for (index, name) in path.enumerated() {
            // A payload that is a bare number is kept as the field `value`.
            let other = index == 0 && path == ["value"] ? "v" : "none"
            text += "{% set v = v.get('\(name)') if v is mapping else \(other) %}"
        }
        return text + "{{ v if v is number and v is not boolean else '' }}"
    }
}

extension BoardSensor {
    /// The discovery message.
    package func configuration(named name: String, by authority: AuthorityInfo) -> JSONValue {
        let root = authority.topicRoot
        let operation = record.map { "update/\($0)" } ?? "create"
        let device = "postern_\(board)"
        let words: [String?] = [
            className.description, record?.description, path.joined(separator: "."),
        ]
        var members: [String: JSONValue] = [
            "name": .string(words.compactMap { $0 }.joined(separator: " ")),
            "unique_id": .string("\(device)_\(id)"),
            // A route may add further levels.
            "state_topic": .string("\(root)/\(board)/data/\(className)/\(operation)/#"),
            "value_template": .string(template),
            "availability_topic": .string(ContractTopic.status(board).text(under: root)),
            "availability_template": .string(
                "{{ 'online' if value_json is mapping and value_json.get('status') == 'up' "
                    + "else 'offline' }}"),
            "expire_after": .integer(Self.expiry),
            "state_class": .string(meaning.isTotal ? "total_increasing" : "measurement"),
            "device": .object([
                "identifiers": .array([.string(device)]), "name": .string(name),
                "manufacturer": .string("Postern"),
            ]),
            "origin": .object([
                "name": .string("postern-authority"), "sw_version": .string(authority.version),
            ]),
        ]
        members["unit_of_measurement"] = unit.map { .string($0.description) }
        members["device_class"] = meaning.deviceClass.map(JSONValue.string)
        return .object(members)
    }

    /// Home Assistant accepts a sum for energy, and no single measurement.
    private var meaning: (deviceClass: String?, isTotal: Bool) {
        guard let unit else { return (nil, false) }
        let deviceClass = Self.classes[unit.description] ?? classByName(unit.description)
        return (deviceClass, deviceClass == "energy")
    }

    /// The quantity of a unit that has only one. Home Assistant takes these units for it.
    private static let classes = [
        "°C": "temperature", "°F": "temperature", "hPa": "pressure", "kPa": "pressure",
        "Pa": "pressure", "mbar": "pressure", "bar": "pressure", "psi": "pressure",
        "lx": "illuminance", "W": "power", "kW": "power", "Wh": "energy", "kWh": "energy",
        "MWh": "energy", "V": "voltage", "mV": "voltage", "A": "current", "mA": "current",
        "Hz": "frequency", "kHz": "frequency", "dBm": "signal_strength", "VA": "apparent_power",
        "km/h": "speed", "m/s": "speed", "W/m²": "irradiance",
    ]

    /// The quantity of a unit that has several, if the field's name tells it.
    private func classByName(_ unit: String) -> String? {
        let name = (path.last ?? "").lowercased()
        return switch unit {
        case "%" where name.contains("humid"): "humidity"
        case "%" where name.contains("moist"): "moisture"
        case "%" where name.contains("batter"): "battery"
        case "ppm" where name.contains("co2"): "carbon_dioxide"
        default: nil
        }
    }
}
