import AuthorityCore

/// RabbitMQ's questions for its MQTT plugin, which uses AMQP: an MQTT session is a queue bound to
/// an exchange, and a topic is a routing key.
///
/// Source: RabbitMQ 3.10, `rabbitmq_auth_backend_http`'s README, and what its MQTT plugin was seen
/// to ask; `Tests/Interop/test_broker_rabbitmq.py` runs it.
extension BrokerRoutes {
    /// Clients of AMQP, STOMP and the management have no client id, so they are refused.
    static func rabbitLogin(
        _ question: BrokerQuestion, _ broker: AskingBroker
    ) async throws(AuthorityError) -> Bool {
        guard question.text("vhost") == broker.virtualHost,
            let clientID = question.name("client_id"), let password = question.password
        else { return false }
        return try await broker.permits(
            .login(clientID: clientID, password: password), to: question.username)
    }

    static func rabbitHost(
        _ question: BrokerQuestion, _ broker: AskingBroker
    ) async throws(AuthorityError) -> Bool {
        guard question.text("vhost") == broker.virtualHost,
            let clientID = question.name("client_id")
        else { return false }
        return try await broker.permits(.acts([], clientID: clientID), to: question.username)
    }

    /// Permits the two queues of the client's own session and the exchange of MQTT, nothing else.
    static func rabbitResource(
        _ question: BrokerQuestion, _ broker: AskingBroker
    ) async throws(AuthorityError) -> Bool {
        guard question.text("vhost") == broker.virtualHost,
            let name = question.name("name"), let permission = question.text("permission")
        else { return false }
        let owner: String?
        switch (question.text("resource"), permission) {
        case ("queue", "configure"), ("queue", "read"), ("queue", "write"):
            guard let client = RabbitMQ.client(ofQueue: name) else { return false }
            owner = client
        case ("exchange", "read"), ("exchange", "write"):
            guard name == RabbitMQ.exchange else { return false }
            owner = nil
        default:
            return false
        }
        if let owner, let client = question.text("client_id"), owner != client { return false }
        return try await broker.permits(
            .acts([], clientID: owner ?? question.name("client_id")), to: question.username)
    }

    static func rabbitTopic(
        _ question: BrokerQuestion, _ broker: AskingBroker
    ) async throws(AuthorityError) -> Bool {
        guard question.text("vhost") == broker.virtualHost, question.text("resource") == "topic",
            question.text("name") == RabbitMQ.exchange, let key = question.text("routing_key")
        else { return false }
        let topic = RabbitMQ.topic(ofRoutingKey: key)
        let act: BrokerAction
        switch question.text("permission") {
        case "write": act = .publish(topic: topic)
        case "read": act = .subscribe(filter: topic)
        default: return false
        }
        return try await broker.permits(
            .acts([act], clientID: question.name("variable_map.client_id")),
            to: question.username)
    }
}

/// Names of RabbitMQ's MQTT plugin.
enum RabbitMQ {
    static let exchange = "amq.topic"

    /// The client id of a session's queue, nil for other queues. A session has one queue for each
    /// QoS.
    static func client(ofQueue name: String) -> String? {
        let prefix = "mqtt-subscription-"
        guard name.hasPrefix(prefix), name.hasSuffix("qos0") || name.hasSuffix("qos1") else {
            return nil
        }
        let client = name.dropFirst(prefix.count).dropLast(4)
        return client.isEmpty ? nil : String(client)
    }

    /// The topic or filter of a routing key or a binding.
    ///
    /// The plugin writes `/` as `.` and `+` as `*`, and does not change a `.`. So a topic with a
    /// `.` reaches the same queues as the one with `/`, and is checked as that topic. A `*` in a
    /// topic becomes a `+` here. It is refused, or checked as the wildcard that it is in a binding.
    static func topic(ofRoutingKey key: String) -> String {
        // Byte by byte, as the plugin and the exchange do.
        String(decoding: key.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "."): UInt8(ascii: "/")
            case UInt8(ascii: "*"): UInt8(ascii: "+")
            default: byte
            }
        }, as: UTF8.self)
    }
}
