/// The delivery guarantee of a message. Level 2 is not used, because the contract has its own key
/// against duplicates.
package enum QoS: UInt8, Equatable, Sendable, CaseIterable {
    case atMostOnce = 0
    case atLeastOnce = 1
}

/// A name and a value that travel with a message. Source: MQTT 5 §3.3.2.3.7.
package struct UserProperty: Equatable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The MQTT 5 properties of a message. A 3.1.1 connection leaves them out.
package struct MessageProperties: Equatable, Sendable {
    package var responseTopic: String?
    package var correlationData: [UInt8]?
    /// Seconds after which the broker drops the message.
    package var messageExpiry: UInt32?
    package var contentType: String?
    /// Whether the sender declares that the payload is UTF-8.
    package var isText: Bool
    package var userProperties: [UserProperty]

    package init(
        responseTopic: String? = nil, correlationData: [UInt8]? = nil,
        messageExpiry: UInt32? = nil, contentType: String? = nil, isText: Bool = false,
        userProperties: [UserProperty] = []
    ) {
        self.responseTopic = responseTopic
        self.correlationData = correlationData
        self.messageExpiry = messageExpiry
        self.contentType = contentType
        self.isText = isText
        self.userProperties = userProperties
    }

    package static let none = MessageProperties()

    package var isEmpty: Bool {
        responseTopic == nil && correlationData == nil && messageExpiry == nil
            && contentType == nil && !isText && userProperties.isEmpty
    }

    /// The values of all user properties with that name.
    package func values(of name: String) -> [String] {
        userProperties.isEmpty ? [] : userProperties.filter { $0.name == name }.map(\.value)
    }

    /// The value of the first user property with that name.
    package func userProperty(_ name: String) -> String? {
        userProperties.first { $0.name == name }?.value
    }
}

/// A message to publish, or a last will.
package struct OutgoingMessage: Sendable {
    package var topic: String
    package var payload: [UInt8]
    package var qos: QoS
    package var retain: Bool
    package var properties: MessageProperties

    package init(
        topic: String, payload: [UInt8], qos: QoS = .atLeastOnce, retain: Bool = false,
        properties: MessageProperties = .none
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties
    }
}

/// A received message. Its topic is UTF-8 without NUL; nothing else was checked.
package struct IncomingMessage: Sendable {
    package let topic: String
    package let payload: [UInt8]
    package let qos: QoS
    package let retain: Bool
    /// The broker's packet id until the acknowledgement; 0 with `atMostOnce`.
    package let packetID: UInt16
    package let properties: MessageProperties
}

/// A topic filter and the highest level of its messages.
package struct Subscription: Equatable, Sendable {
    package let filter: String
    package let qos: QoS

    package init(_ filter: String, _ qos: QoS = .atLeastOnce) {
        self.filter = filter
        self.qos = qos
    }
}
