package import Gate
package import Sessions

/// A request to move a write to the dead letters.
package struct DeadLetterRequest: Equatable, Sendable {
    package let sequence: Int64
    /// Why no broker accepts the write. Safe to show. Cut to `DeadLetter.reasonLimit` bytes.
    package let reason: String

    package init(sequence: Int64, reason: String) {
        self.sequence = sequence
        self.reason = reason
    }
}

/// A write that no broker accepts.
package struct DeadLetter: Equatable, Sendable {
    /// The most letters that are kept, and the most bytes of them.
    package static let kept = 1000
    package static let bytesKept = 8 << 20
    package static let reasonLimit = 200

    package let write: AcceptedWrite
    package let reason: String
    package let buriedAt: Timestamp
}

extension DeadLetter {
    /// The letter as a frame. Nil for a name or topic that MQTT could not carry.
    var body: FrameBody? {
        var reason = reason
        while reason.utf8.count > Self.reasonLimit { reason.removeLast() }
        var body = FrameBody(session: write.session, user: write.user)
        guard body.append(write) else { return nil }
        body.close { bytes in
            bytes.append(number: buriedAt.milliseconds)
            _ = bytes.append(short: reason)
        }
        return body
    }

    /// Nil for bytes that `body` does not write.
    init?(_ plaintext: [UInt8], _ header: FrameHeader) {
        guard var batch = BatchReader(plaintext, header), let item = batch.next(),
            var tail = batch.tail(), let buried = tail.number(), let reason = tail.shortText()
        else { return nil }
        self.init(
            write: batch.write(item), reason: reason,
            buriedAt: Timestamp(milliseconds: buried))
    }
}
