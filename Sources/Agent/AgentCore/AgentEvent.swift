package import Gate
package import Sessions
package import Wire

/// An input of the agent. The loop creates events; the agent never polls.
package enum AgentEvent: Sendable {
    case started
    /// The time of `Agent.nextDeadline` has been reached.
    case deadline
    case busConnected(resumed: Bool)
    case busLost
    /// Messages from the board's bus, in order. The loop acknowledges them after it has carried
    /// out the effects.
    case bus([BusMessage])
    /// Messages whose topics have too few levels for a request. None of them is a write, so they
    /// need no room in the store.
    case strays([BusMessage])
    case uplink(UplinkEvent)
    /// A message on this board's inbox.
    case inbox([UInt8])
    /// The state of the outbox after a commit or a removal.
    case queue(QueueState)
    /// The upstream broker has acknowledged data messages. The value is the highest acknowledged
    /// number.
    case forwarded(Int64)
    /// The local broker's counters for its own queue. Nil: this counter has no new value.
    case busBroker(dropped: Int64?, stored: Int64?)
    /// What became of one try to publish a command on the bus. Each try has one, unless the
    /// agent ends.
    case commandPublished(MessageID, CommandPublication)
    case control(ControlRequest, connection: Int)
    /// The rule files were read again without an error. These rules replace the old ones. Their
    /// texts are for the authority.
    case rules(Policy?, RouteTable, texts: BoardConfiguration = .none)
    case stop
}

/// The local broker's answer to a command.
package enum CommandPublication: Sendable {
    /// The broker has it for a subscriber.
    case taken
    /// Nobody subscribes to the topic, or the broker refused it: nobody got it.
    case unheard
    /// It did not leave the agent.
    case unsent
    /// It may have left. The connection ended before the broker said what became of it.
    case lost
}

/// An event of the connection to the upstream broker.
package enum UplinkEvent: Sendable {
    case connected
    /// The inbox is subscribed.
    case ready
    /// The broker has acknowledged the join request.
    case asked
    /// The broker has acknowledged the join request, but nobody subscribes to it.
    case unheard
    /// The broker refused this login.
    case refused(String)
    /// The connection failed or ended. The text names the layer.
    case lost(String)
    /// The broker ended the connection, because another client with this board's id connected.
    case takenOver
    /// Why the broker accepts no writes for now. Nil: it accepts writes again.
    case held(WriteHold?)
    /// A write caused the broker to end the connection. That write no longer blocks the outbox.
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
    package let key: StatedKey
    /// Whether it has the user property that the agent sets on its own messages to apps.
    package let isMarked: Bool

    package init(
        topic: String, payload: [UInt8], isRetained: Bool, packetID: UInt16?,
        responseTopic: String?, correlation: [UInt8]?, key: StatedKey = .none,
        isMarked: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.packetID = packetID
        self.responseTopic = responseTopic
        self.correlation = correlation
        self.key = key
        self.isMarked = isMarked
    }
}

extension BusMessage {
    /// Whether this is the agent's own message, which its subscription brings back.
    ///
    /// Its own messages to apps never name a response topic. They have the mark, or go to
    /// `…/rejected` where the broker carries no user properties. So an app cannot hide a request
    /// behind the mark.
    package var isEcho: Bool {
        guard responseTopic == nil else { return false }
        return isMarked ? BusTopic.isAnswer(topic) : BusTopic.isRejected(topic)
    }

    /// The same message without a response topic, correlation data and key.
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
    /// The number of dead letters.
    package var dead: Int64 = 0
    package var losses = QueueLosses()

    package init(messages: Int64 = 0, bytes: Int64 = 0, oldest: Timestamp? = nil) {
        self.messages = messages
        self.bytes = bytes
        self.oldest = oldest
    }
}
