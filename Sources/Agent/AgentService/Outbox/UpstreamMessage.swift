import Gate
import MQTT
import Sessions

extension AcceptedWrite {
    /// The message that carries the write upstream.
    /// Source: the wire contract, Data topics and properties.
    var message: OutgoingMessage {
        OutgoingMessage(
            topic: topic, payload: payload, qos: .atLeastOnce, retain: false,
            properties: MessageProperties(userProperties: [
                UserProperty("sid", session.description),
                UserProperty("seq", String(sequence)),
                UserProperty("ts", String(acceptedAt.milliseconds)),
                UserProperty("app", app.description),
            ]))
    }
}
