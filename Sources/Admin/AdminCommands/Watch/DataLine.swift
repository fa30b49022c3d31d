import Gate
import Sessions
import Wire

/// One message from a board's app, as `watch` shows it.
struct DataLine: Sendable {
    let message: DataMessage
    let arrived: Timestamp
    let sequence: Int64?
    let accepted: Timestamp?

    /// The most bytes of a payload that are shown.
    static let payloadLimit = 4096
    private static let lineLimit = 200

    init(_ message: DataMessage, at now: Timestamp) {
        self.message = message
        arrived = now
        sequence = message.sequence.flatMap(Int64.init)
        accepted = message.accepted.flatMap(Int64.init).map(Timestamp.init(milliseconds:))
    }

    /// For people: limited in length, and without characters that move the cursor.
    func text(_ times: TimeText) -> String {
        let (path, payload) = (message.path, message.payload)
        let shown = payload.prefix(Self.lineLimit)
        let body = String(validating: payload, as: UTF8.self) == nil
            ? "(\(payload.count) bytes that are not text)"
            : Printable.line(String(decoding: shown, as: UTF8.self))
                + (payload.count > shown.count ? "… (\(payload.count) bytes)" : "")
        let record = path.record.map { "/\($0)" } ?? ""
        let further = message.further.map { " /" + Printable.line($0.description) } ?? ""
        return [
            times.clock(accepted ?? arrived),
            String(message.board.description.prefix(8)), Printable.line(message.app ?? "-"),
            "\(path.className)\(record) \(path.operation.rawValue)" + further,
            "sid=\(Printable.line(message.session ?? "-"))",
            "seq=\(sequence.map(String.init) ?? "-")", body,
        ].joined(separator: "  ")
    }

    /// For programs. A payload that is not text is in `payloadBase64`. `truncated` marks a cut
    /// payload.
    var json: JSONValue {
        let (path, payload) = (message.path, message.payload)
        let shown = Array(payload.prefix(Self.payloadLimit))
        var members: [String: JSONValue] = [
            "time": .time(arrived), "installationId": .string(message.board.description),
            "app": message.app.map(JSONValue.string) ?? .null,
            "class": .string(path.className.description),
            "op": .string(path.operation.rawValue),
            "objectId": path.record.map { .string($0.description) } ?? .null,
            "further": message.further.map { .string($0.description) } ?? .null,
            "sid": message.session.map(JSONValue.string) ?? .null,
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
