import Sessions
import Wire

extension Check {
    static let uplink = [
        Check(
            id: "uplink", group: .uplink, about: "the agent is connected to the upstream broker"
        ) { facts in
            guard facts.isRunning, let status = facts.status else {
                return .skipped("the agent does not run")
            }
            guard let text = status.text("uplink") else { return unknown }
            if status.text("hold") != nil, text.hasPrefix("connected") {
                return .warning(text, next: "look at what the broker lets this board publish")
            }
            guard text == "connected" else {
                return .failed(text, next: "look at the layer that is named, from here to there")
            }
            if let note = status.text("uplinkNote") {
                return .warning(note, next: "let the upstream broker speak MQTT 5")
            }
            return .ok(text)
        },
    ]

    static let versions = [
        Check(
            id: "libmosquitto", group: .versions,
            about: "the linked MQTT library withstands what a broker may send"
        ) { facts in
            guard facts.mosquittoAborts else { return .ok(facts.mosquittoVersion) }
            return .warning(
                """
                \(facts.mosquittoVersion): before 2.0.16 a broker can end the agent with a \
                malformed packet; it is started again and loses nothing
                """,
                next: "install libmosquitto 2.0.16 or later")
        },
    ]
}
