import Gate
import MQTT
import Sessions
import Wire

/// A message with a board's data, and what the contract's user properties say: anyone's text.
struct DataMessage: Sendable {
    let board: InstallationID
    let topic: String
    let path: RecordPath
    /// What a route put behind the contract's topic.
    let further: FurtherLevels?
    let payload: [UInt8]
    let app: String?
    let session: String?
    let sequence: String?
    let accepted: String?

    /// Nil for a topic that carries no board's data.
    init?(_ message: IncomingMessage, under root: TopicRoot) {
        // No board may retain data, and what a broker kept is no news.
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
