import Gate
import MQTT
import Sessions
import Wire

/// A message with a board's data, and the values of its user properties, which are not checked yet.
struct DataMessage: Sendable {
    let board: InstallationID
    let topic: String
    let path: RecordPath
    /// The levels that a route added after the contract's topic.
    let further: TopicSuffix?
    let payload: [UInt8]
    let app: String?
    let session: String?
    let sequence: String?
    let accepted: String?

    /// Nil if the topic does not carry a board's data.
    init?(_ message: IncomingMessage, under root: TopicRoot) {
        // Boards may not retain data, and retained messages are old.
        guard !message.retain else { return nil }
        self.init(
            topic: message.topic, payload: message.payload, under: root,
            property: { message.properties.userProperty($0) })
    }

    init?(
        topic: String, payload: [UInt8], under root: TopicRoot, property: (String) -> String?
    ) {
        guard case .data(let board, let path, let further)? = ContractTopic(topic, under: root)
        else { return nil }
        self.board = board
        self.topic = topic
        self.path = path
        self.further = further
        self.payload = payload
        app = property("app")
        session = property("sid")
        sequence = property("seq")
        accepted = property("ts")
    }
}
