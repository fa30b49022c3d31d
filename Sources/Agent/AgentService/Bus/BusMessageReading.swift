import AgentCore
import MQTT

extension BusMessage {
    init(_ message: IncomingMessage) {
        self.init(
            topic: message.topic, payload: message.payload, isRetained: message.retain,
            packetID: message.qos == .atMostOnce ? nil : message.packetID,
            responseTopic: message.properties.responseTopic,
            correlation: message.properties.correlationData,
            key: StatedKey(message.properties.values(of: "key")),
            isMarked: message.properties.userProperties.contains(BusMark.property))
    }
}
