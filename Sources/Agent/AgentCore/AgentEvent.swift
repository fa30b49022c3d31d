package import Gate
package import Sessions
import Wire

/// What happened to the agent. The loop makes these; the agent never asks.
package enum AgentEvent: Sendable {
    case started
    /// A deadline that the agent named has come.
    case deadline
    case busConnected(resumed: Bool)
    case busLost
    /// Messages from the board's bus, in order. Their PUBACKs wait for the effects.
    case bus([BusMessage])
    case uplink(UplinkEvent)
    /// A message on this board's inbox.
    case inbox([UInt8])
    /// The outbox after a commit or a removal.
    case queue(QueueState)
    /// The upstream broker has acknowledged data messages, this number the highest.
    case forwarded(Int64)
    /// How the local broker says its own queue is; nil: nothing new of that.
    case busBroker(dropped: Int64?, stored: Int64?)
    case control(ControlRequest, connection: Int)
    /// The rule files were read again, and are whole: these rules replace the old ones.
    case rules(Policy?, RouteTable)
    case stop
}

package enum UplinkEvent: Sendable {
    case connected
    /// The inbox is subscribed.
    case ready
    /// The broker did not let this login in.
    case refused(String)
    /// The connection failed or ended; the text names the layer.
    case lost(String)
    /// The broker ended it because another client of this board's id was let in.
    case takenOver
    /// Why the broker takes no writes for now; nil: it takes them again.
    case held(WriteHold?)
    /// A write that made the broker end the connection is out of the way.
    case unblocked
}

/// One message from a program on the board.
package struct BusMessage: Sendable {
    package let topic: String
    package let payload: [UInt8]
    package let isRetained: Bool
    /// Nil at QoS 0.
    package let packetID: UInt16?
    package let responseTopic: String?
    package let correlation: [UInt8]?

    package init(
        topic: String, payload: [UInt8], isRetained: Bool, packetID: UInt16?,
        responseTopic: String?, correlation: [UInt8]?
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.packetID = packetID
        self.responseTopic = responseTopic
        self.correlation = correlation
    }
}

extension BusMessage {
    /// The same, with nobody to answer.
    var unasked: BusMessage {
        BusMessage(
            topic: topic, payload: payload, isRetained: isRetained, packetID: packetID,
            responseTopic: nil, correlation: nil)
    }
}

/// How full the outbox is.
package struct QueueState: Equatable, Sendable {
    package var messages: Int64
    package var bytes: Int64
    package var oldest: Timestamp?
    /// How many writes stand among the dead letters.
    package var dead: Int64 = 0
    package var losses = QueueLosses()

    package init(messages: Int64 = 0, bytes: Int64 = 0, oldest: Timestamp? = nil) {
        self.messages = messages
        self.bytes = bytes
        self.oldest = oldest
    }
}
