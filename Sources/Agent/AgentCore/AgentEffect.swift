package import Gate
package import Sessions
package import Wire

/// An action for the loop. The loop carries out effects in order. It carries out an effect after
/// a `commit` only when that commit is durable. With `durability = "spill"` writes may be held in
/// memory; then only their answers and PUBACKs wait for them.
/// If the commit fails, the loop drops the remaining
/// effects and the agent starts again from disk.
package enum AgentEffect: Sendable {
    case commit([RecordChange])
    /// Publishes on the bus, over the connection that carries no acknowledgements.
    case publishBus(BusPublication)
    /// Publishes a command to its app. The event `commandPublished` says what became of it.
    case publishCommand(MessageID, BusPublication)
    case connectUplink(UplinkLogin)
    case disconnectUplink
    /// Ends the connection and drops the data that is queued for it.
    case abandonUplink
    case subscribeInbox(String)
    /// Publishes the join request. The broker's acknowledgement is the event `asked`.
    case askToJoin(topic: String, payload: [UInt8])
    /// Sends a sealed message to the authority.
    case send(topic: String, payload: [UInt8])
    case publishStatus(topic: String, BoardStatus)
    /// Sends queued records of this user. Nil: sends none.
    case forward(user: UserID?)
    /// What may leave this board under the current scope.
    case grant(PublishGrants)
    /// Tries a broker again that refused this board's writes. The session is valid.
    case retryForwarding
    /// Whether the agent reads the bus. While it does not, the broker keeps new messages.
    case readBus(Bool)
    /// Whether to leave bus messages with the broker: neither accepted nor acknowledged. At a
    /// start this effect comes before the bus connects, if it is needed.
    case holdBus(Bool)
    /// The foreign topics to read from now on. The agent already applies the new routes.
    case readRoutes([TopicFilter])
    /// Checks the rules of the replaced board, and keeps them for this one. The event `rules`
    /// follows if they are good.
    case restore(BoardConfiguration)
    case answer(connection: Int, JSONValue)
    case log(LogSeverity, String)
    case exit
}

package enum LogSeverity: Sendable { case info, warning, error }

/// One change to the stored records. A `commit` makes all of its changes or none.
package enum RecordChange: Sendable {
    case claim(PendingClaim?)
    case join(PendingJoin?)
    case trust(Trust)
    /// Nil destroys the session. Its record cannot be recovered.
    case session(HeldSession?)
    case memory(BoardMemory)
    case commands(TakenCommands)
    /// Stores writes, the bus packets that brought them, and the keys that their apps gave.
    /// Redeliveries and repetitions are known by these.
    case append([AcceptedWrite], window: [DeliveredPacket], keys: [KeptKey] = [])
    /// Drops writes that were accepted in this time range, because they are older than `max_age`.
    /// A write that waits for its upstream PUBACK stays. The agent requests the removal again
    /// after the connection is lost or the broker refuses the write.
    case expire(Range<Timestamp>)
    /// Declares these sequence numbers as gaps. They may have been assigned, but their writes
    /// will never arrive.
    case lose([Int64])
    case clearWindow
    /// Destroys the outbox after another user has claimed the board. The old user's data can
    /// never be read again.
    case destroyQueue
}

/// An accepted packet of the bus. If the broker delivers it again, it keeps its `seq`.
package struct DeliveredPacket: Hashable, Sendable {
    package let packetID: UInt16
    /// The first 16 bytes of SHA-256 over topic, response topic, correlation data and payload.
    package let digest: UInt128
    package let sequence: Int64
    /// False if only the sequence number survived a crash. The write itself must be accepted
    /// again.
    package let isDurable: Bool

    package init(packetID: UInt16, digest: UInt128, sequence: Int64, isDurable: Bool = true) {
        self.packetID = packetID
        self.digest = digest
        self.sequence = sequence
        self.isDurable = isDurable
    }
}

/// A message that the agent publishes on the bus.
package struct BusPublication: Equatable, Sendable {
    /// The most bytes of correlation data that an answer copies from its request.
    package static let correlationLimit = 1024
    /// The user property of each message to an app: it tells the agent its own messages.
    package static let mark = (name: "from", value: "agent")

    package let topic: String
    package let payload: [UInt8]
    package let retain: Bool
    package let correlation: [UInt8]?
    /// After so many seconds the broker drops a copy that it has not delivered. Nil: never.
    package let expiry: UInt32?

    package init(
        topic: String, payload: [UInt8], retain: Bool, correlation: [UInt8]? = nil,
        expiry: UInt32? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.retain = retain
        self.correlation = correlation
        self.expiry = expiry
    }

    /// Whether an answer can carry this correlation data: none, or at most `correlationLimit`
    /// bytes.
    package static func carries(_ correlation: [UInt8]?) -> Bool {
        (correlation?.count ?? 0) <= correlationLimit
    }
}

/// One way to log in at the upstream broker.
package struct UplinkLogin: Sendable {
    /// Nil: use the URI from `agent.toml`.
    package let uri: String?
    /// CA certificates in PEM. Nil: use the certificates from `agent.toml`.
    package let ca: String?
    package let clientID: String
    package let username: String
    package let password: SecretBytes
    /// Nil: the broker publishes nothing when this connection ends.
    package let will: (topic: String, payload: [UInt8])?
}
