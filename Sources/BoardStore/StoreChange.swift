package import Gate
package import Sessions

/// What the vault keeps, one record each. What stands in a record is its owner's affair.
package enum VaultRecord: String, CaseIterable, Sendable {
    /// Installation id, device key, broker login.
    case identity
    /// The claim secret that is open, if one is.
    case claim
    /// The pinned authority.
    case trust
    /// Session, tokens, user and scope.
    case session
    /// What must outlive a restart and no session: last `seq` taken, clock floor.
    case memory
}

/// One step of a transaction. `BoardDatabase.transact` takes several and does all or none.
package enum StoreChange: Sendable {
    /// Sets a record.
    case put(VaultRecord, SecretBytes)
    /// Removes a record for good: the key it was under is replaced by a new one, the other
    /// records under that key are encrypted again, and afterwards the old pages are cleared.
    case destroy(VaultRecord)
    /// Adds writes to the queue. Their sequences rise, also above `lastSequence`.
    case append([AcceptedWrite])
    /// Removes writes from the queue, after their upstream PUBACK. Unknown ones are skipped.
    case remove([Int64])
    /// Moves writes that no broker takes from the queue to the dead letters.
    case bury([Burial])
    /// Removes all writes, those set aside too, and replaces the queue's key.
    /// `lastSequence`, the counters and the redelivery window stay.
    case destroyQueue
    /// Adds to the redelivery window, which keeps the newest `WindowEntry.kept`.
    case window([WindowEntry])
    /// Empties the redelivery window.
    case clearWindow
    /// Sets a counter that survives a restart. At most `QueueState.counterLimit` names of at
    /// most 255 bytes; a further name is not kept.
    case counter(String, Int64)
    case expire(from: Timestamp, before: Timestamp)
    case makeRoom(bytes: Int64, keep: [ClassName])
    case lose(ClosedRange<Int64>, QueueLosses.Cause)
}

/// A message that the local broker may deliver again after a crash, and the sequence it had.
package struct WindowEntry: Equatable, Sendable {
    /// How many the store keeps.
    package static let kept = 1024

    package let packetID: UInt16
    /// The first 16 bytes of a digest over topic and payload, as `WindowEntry.digest` has it.
    package let digest: UInt128
    package let sequence: Int64

    package init(packetID: UInt16, digest: UInt128, sequence: Int64) {
        self.packetID = packetID
        self.digest = digest
        self.sequence = sequence
    }

    /// The first 16 bytes of a digest as one number; missing bytes count as zero.
    package static func digest(_ bytes: [UInt8]) -> UInt128 {
        (0..<16).reduce(0) { sum, index in
            sum << 8 | (index < bytes.count ? UInt128(bytes[index]) : 0)
        }
    }
}

/// A write that becomes a dead letter, and why.
package struct Burial: Equatable, Sendable {
    package let sequence: Int64
    package let reason: String

    package init(sequence: Int64, reason: String) {
        self.sequence = sequence
        self.reason = reason
    }
}

/// A write that no broker takes.
package struct DeadLetter: Equatable, Sendable {
    package let write: AcceptedWrite
    package let reason: String
    package let buriedAt: Timestamp
}

/// How full the queue is.
package struct QueueUsage: Equatable, Sendable {
    package let messages: Int64
    /// Bytes the messages take in the file: payloads and what is stored with each.
    package let bytes: Int64
    /// When the oldest was accepted; nil when the queue is empty.
    package let oldest: Timestamp?
    /// How many stand among the dead letters.
    package var dead: Int64 = 0
    package var losses = QueueLosses()
}

/// A record that could not be opened. It was moved out of the way and is kept, bounded.
package struct DamagedRecord: Equatable, Sendable {
    /// Such as "queue 1042"; safe to log.
    package let name: String
    /// The write's sequence, if it was one.
    package let sequence: Int64?
}
