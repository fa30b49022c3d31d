import Gate
import Mosquitto
import Sessions
import Wire

/// One message that a board's program sent, as `watch` shows it.
struct DataLine: Sendable {
    let arrived: Timestamp
    let board: InstallationID
    let path: RecordPath
    /// What a route put behind the contract's topic.
    let further: FurtherLevels?
    let app: String?
    let session: String?
    let sequence: Int64?
    let accepted: Timestamp?
    let payload: [UInt8]

    /// More of a payload than this is not shown.
    static let payloadLimit = 4096
    private static let lineLimit = 200

    /// Nil for a topic that carries no board's data.
    init?(_ message: IncomingMessage, under root: TopicRoot, at now: Timestamp) {
        self.init(
            topic: message.topic, payload: message.payload, under: root, at: now,
            property: { message.properties.userProperty($0) })
    }

    init?(
        topic: String, payload: [UInt8], under root: TopicRoot, at now: Timestamp,
        property: (String) -> String?
    ) {
        guard case .data(let board, let path, let further)? = ContractTopic(topic, under: root)
        else { return nil }
        arrived = now
        self.board = board
        self.path = path
        self.further = further
        app = property("app")
        session = property("sid")
        sequence = property("seq").flatMap(Int64.init)
        accepted = property("ts").flatMap(Int64.init).map(Timestamp.init(milliseconds:))
        self.payload = payload
    }

    /// For people: bounded, and nothing in it moves the cursor.
    func text(_ times: TimeText) -> String {
        let shown = payload.prefix(Self.lineLimit)
        let body = String(validating: payload, as: UTF8.self) == nil
            ? "(\(payload.count) bytes that are not text)"
            : Printable.line(String(decoding: shown, as: UTF8.self))
                + (payload.count > shown.count ? "… (\(payload.count) bytes)" : "")
        let record = path.record.map { "/\($0)" } ?? ""
        let further = further.map { " /" + Printable.line($0.description) } ?? ""
        return [
            times.clock(accepted ?? arrived), String(board.description.prefix(8)),
            Printable.line(app ?? "-"), "\(path.className)\(record) \(path.operation.rawValue)"
                + further,
            "sid=\(Printable.line(session ?? "-"))", "seq=\(sequence.map(String.init) ?? "-")",
            body,
        ].joined(separator: "  ")
    }

    /// For programs. A payload that is not text stands as `payloadBase64`; a cut one says so.
    var json: JSONValue {
        let shown = Array(payload.prefix(Self.payloadLimit))
        var members: [String: JSONValue] = [
            "time": .time(arrived), "installationId": .string(board.description),
            "app": app.map(JSONValue.string) ?? .null,
            "class": .string(path.className.description),
            "op": .string(path.operation.rawValue),
            "objectId": path.record.map { .string($0.description) } ?? .null,
            "further": further.map { .string($0.description) } ?? .null,
            "sid": session.map(JSONValue.string) ?? .null,
            "seq": sequence.map(JSONValue.integer) ?? .null,
            "ts": accepted.map { .integer($0.milliseconds) } ?? .null,
            "payloadBytes": .integer(Int64(payload.count)),
            "truncated": .bool(shown.count < payload.count),
        ]
        if String(validating: payload, as: UTF8.self) != nil {
            members["payload"] = .string(String(decoding: shown, as: UTF8.self))
        } else {
            members["payloadBase64"] = .string(Base64URL.encode(shown))
        }
        return .object(members)
    }
}
