import Gate
import Sessions

/// How a write stands in the queue's encrypted column. The version comes first, then app,
/// class, topic, and the payload to the end. Sequence, time, session and user have columns.
enum QueueRow {
    private static let version: UInt8 = 1
    /// What a row takes beside its encrypted column: two names, numbers, SQLite's own header,
    /// and its share of a page's unused end, as measured at 256 bytes of payload.
    static let overhead: Int64 = 64

    /// Appends a write. False for a topic that MQTT could not carry.
    static func encode(_ write: AcceptedWrite, into row: inout [UInt8]) -> Bool {
        row.append(version)
        guard row.append(short: write.app.description),
            row.append(short: write.className.description),
            let topic = UInt16(exactly: write.topic.utf8.count)
        else { return false }
        row.append(half: topic)
        row.append(contentsOf: write.topic.utf8)
        row.append(contentsOf: write.payload)
        return true
    }

    /// Nil for bytes that `encode` does not make.
    static func decode(
        _ row: [UInt8], sequence: Int64, at milliseconds: Int64, session: String, user: String
    ) -> AcceptedWrite? {
        var reader = ByteReader(row)
        guard reader.byte() == version,
            let app = reader.shortText().flatMap({ AppName($0) }),
            let className = reader.shortText().flatMap({ ClassName($0) }),
            let count = reader.half(), let topic = reader.text(Int(count)),
            let session = ObjectID(session), let user = UserID(user)
        else { return nil }
        return AcceptedWrite(
            sequence: sequence, session: session, user: user,
            acceptedAt: Timestamp(milliseconds: milliseconds), app: app, className: className,
            topic: topic, payload: reader.rest())
    }
}
