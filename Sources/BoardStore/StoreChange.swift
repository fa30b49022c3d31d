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
    ///
    /// A transaction of nothing else is not synced: a power cut may bring the writes back, with
    /// the same sequences. So may any end of the process for those whose row still holds others
    /// and that do not stand at the queue's front: at most a row's.
    case remove([Int64])
    /// Moves writes that no broker will take out of the queue, among the dead letters, of which
    /// the newest `DeadLetter.kept` stay, within `DeadLetter.bytesKept`. Unknown ones are skipped.
    case bury([Burial])
    /// Drops the writes that were accepted before this, but for those from before `from`: a
    /// clock that was not set gave them their time. Those of these sequences stay: the broker
    /// may have them already.
    case expire(from: Timestamp, before: Timestamp, sparing: Set<Int64> = [])
    /// Drops writes until at least so many bytes (as `QueueUsage.bytes` counts) are free, or
    /// none is left: first those of classes that are not in `keep`, the oldest first, then of
    /// the last class in it, and so on; those of the first class go last.
    case makeRoom(bytes: Int64, keep: [ClassName])
    /// Books numbers that will never arrive, and that no row holds.
    case lose(ClosedRange<Int64>, QueueLosses.Cause)
    /// Removes all writes, the dead letters and what was set aside too, and replaces the
    /// queue's key. `lastSequence`, counters, losses and the redelivery window stay.
    case destroyQueue
    /// Adds to the redelivery window, which keeps the newest `WindowEntry.kept`.
    case window([WindowEntry])
    /// Empties the redelivery window.
    case clearWindow
    /// Sets a counter that survives a restart. At most `QueueLedger.counterLimit` names of at
    /// most 255 bytes; a further name is not kept.
    case counter(String, Int64)
}

extension StoreChange {
    /// Whether the queue grows by it.
    var adds: Bool {
        if case .append = self { true } else { false }
    }
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

/// How full the queue is.
package struct QueueUsage: Equatable, Sendable {
    package let messages: Int64
    /// Bytes that the rows take in the file, within 5 %. A row goes when its last write does.
    package let bytes: Int64
    /// When the oldest was accepted; nil when the queue is empty.
    package let oldest: Timestamp?
    /// How many stand among the dead letters.
    package var dead: Int64 = 0
    package var losses = QueueLosses()
}

/// A write to be moved among the dead letters.
package struct Burial: Equatable, Sendable {
    package let sequence: Int64
    /// Why no broker takes it: safe to show, cut to `DeadLetter.reasonLimit` bytes.
    package let reason: String

    package init(sequence: Int64, reason: String) {
        self.sequence = sequence
        self.reason = reason
    }
}

/// A write that no broker takes.
package struct DeadLetter: Equatable, Sendable {
    /// How many are kept, and how many bytes of them.
    package static let kept: Int64 = 1000
    package static let bytesKept: Int64 = 8 << 20
    package static let reasonLimit = 200

    package let write: AcceptedWrite
    package let reason: String
    package let buriedAt: Timestamp
}

/// A record that could not be opened. It was moved out of the way and is kept, bounded.
package struct DamagedRecord: Equatable, Sendable {
    /// Such as "queue 1042 to 1061"; safe to log.
    package let name: String
    /// The first write's sequence, if it was a row of the queue: all of its writes stand in
    /// `QueueUsage.losses`.
    package let sequence: Int64?
}
