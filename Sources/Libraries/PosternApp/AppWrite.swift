import FoundationEssentials
import Gate
import MQTT
import Sessions
import Wire

/// One write, which may be sent more than once under its key.
struct AppWrite: Sendable {
    private let path: RecordPath
    private let payload: [UInt8]
    let key: String

    /// Throws `invalid` for a name that no topic may have, and for a key that is empty or too long.
    init(
        _ operation: Operation, _ className: String, _ id: String?, _ payload: [UInt8],
        key: String?
    ) throws(AppError) {
        guard let name = ClassName(className) else {
            throw .invalid("a class has letters, digits and _, and begins with a letter")
        }
        let record = id.flatMap { RecordID($0) }
        guard let path = RecordPath(className: name, operation: operation, record: record) else {
            throw .invalid("an object id has 1 to 64 of letters, digits, _ and -")
        }
        guard key.map({ (1...64).contains($0.utf8.count) }) ?? true else {
            throw .invalid("a key has 1 to 64 bytes")
        }
        self.path = path
        self.payload = payload
        self.key = key ?? MessageID.made.description
    }

    /// The JSON of an object. Throws `invalid` for a value that JSON does not have, such as NaN.
    static func encode(_ object: some Encodable) throws(AppError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        do {
            return Array(try encoder.encode(object))
        } catch EncodingError.invalidValue(_, let context) {
            throw .invalid(context.debugDescription)
        } catch {
            throw .invalid("the object is no JSON: \(error)")
        }
    }

    /// Source: the wire contract, A write.
    func message(of app: AppName, correlation: String) -> OutgoingMessage {
        let record = path.record.map { "/\($0)" } ?? ""
        return OutgoingMessage(
            topic: "postern/app/\(app)/\(path.operation.rawValue)/\(path.className)\(record)",
            payload: payload,
            properties: MessageProperties(
                responseTopic: Self.answers(app), correlationData: Array(correlation.utf8),
                userProperties: [UserProperty("key", key)]))
    }

    /// The topic of all answers to an app.
    static func answers(_ app: AppName) -> String { "postern/app/\(app)/answers" }
}
