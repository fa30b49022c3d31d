package import Gate
package import Sessions
package import Wire

/// What the agent wants done, in order. An effect after a `commit` is done only once the
/// commit is durable; if it fails, the rest is not done and the agent starts again from disk.
package enum AgentEffect: Sendable {
    case commit([RecordChange])
    /// On the bus, over the connection that carries no acknowledgements.
    case publishBus(BusPublication)
    case connectUplink(UplinkLogin)
    case disconnectUplink
    /// Ends the connection without writing what is queued for it.
    case abandonUplink
    case subscribeInbox(String)
    /// A sealed message to the authority.
    case send(topic: String, payload: [UInt8])
    case publishStatus(topic: String, BoardStatus)
    /// Whether queued records may leave, and whose.
    case forward(user: UserID?)
    /// Where this board may publish, by the scope now in force.
    case grant(PublishGrants)
    /// The session lives, so a broker that did not let it publish is tried again.
    case retryForwarding
    /// Whether the bus is read. While it is not, the broker keeps what comes.
    case readBus(Bool)
    /// Whether what comes on the bus is neither taken nor acknowledged, but left to its broker.
    /// Comes first at a start, before the bus is connected, or not at all.
    case holdBus(Bool)
    /// Which other programs' topics are read from now on; the agent judges them already.
    case readRoutes([TopicFilter])
    case answer(connection: Int, JSONValue)
    case log(LogLevel, String)
    case exit
}

package enum LogLevel: Sendable { case info, warning, error }

/// One change to what is on disk; a `commit` makes all of its changes or none.
package enum RecordChange: Sendable {
    case claim(PendingClaim?)
    case trust(Trust)
    /// Nil destroys the session: its record can be read nowhere afterwards.
    case session(HeldSession?)
    case memory(BoardMemory)
    case append([AcceptedWrite], window: [DeliveredPacket])
    /// Drops what was accepted in this span, for it is older than `max_age`; not what waits for
    /// its PUBACK upstream, which is asked for again once that is lost or refused.
    case expire(Range<Timestamp>)
    /// These sequences may have been given and will not come again.
    case lose([Int64])
    case clearWindow
    /// Another user's claim: what the old one's queue holds can never be read again.
    case destroyQueue
}

/// A packet of the bus that was accepted: it keeps its `seq` should it come again.
package struct DeliveredPacket: Hashable, Sendable {
    package let packetID: UInt16
    /// The first 16 bytes of SHA-256 over topic, NUL and payload.
    package let digest: UInt128
    package let sequence: Int64
    /// False where the sequence is all that outlived a crash: the write itself is taken anew.
    package let isDurable: Bool

    package init(packetID: UInt16, digest: UInt128, sequence: Int64, isDurable: Bool = true) {
        self.packetID = packetID
        self.digest = digest
        self.sequence = sequence
        self.isDurable = isDurable
    }
}

package struct BusPublication: Equatable, Sendable {
    /// The longest correlation data that is carried back.
    package static let correlationLimit = 1024

    package let topic: String
    package let payload: [UInt8]
    package let retain: Bool
    package let correlation: [UInt8]?

    package init(topic: String, payload: [UInt8], retain: Bool, correlation: [UInt8]? = nil) {
        self.topic = topic
        self.payload = payload
        self.retain = retain
        self.correlation = correlation
    }

    /// Whether an answer may bear this: none at all, or no more than the limit.
    package static func carries(_ correlation: [UInt8]?) -> Bool {
        (correlation?.count ?? 0) <= correlationLimit
    }
}

/// One way to log in at the upstream broker.
package struct UplinkLogin: Sendable {
    /// Nil: what `agent.toml` says.
    package let uri: String?
    /// CA certificates, PEM; nil: what `agent.toml` says.
    package let ca: String?
    package let clientID: String
    package let username: String
    package let password: SecretBytes
    package let will: (topic: String, payload: [UInt8])
}
