import AgentCore
import Gate
import LinuxIO
import Sessions

/// The durable queue: an append-only log of segments.
///
/// A batch is one write and one sync. What has left is said by marks that need no sync: a power
/// cut may bring writes back, with the sequences they had. Opening reads what is there and changes
/// nothing; `begin` mends what a crash has left.
final class Queue {
    let folder: OutboxFolder
    let vault: Vault
    /// Bytes of a new segment's file.
    let segmentBytes: Int
    /// Rising; the last is the one that is written, if one is.
    var segments: [Segment] = []
    /// Everything that is still to be delivered.
    var live = SequenceSet()
    var lastSequence: Int64 = 0
    /// The newest packets of the bus, in order.
    var window: [DeliveredPacket] = []
    /// Nil until something is written.
    var writer: SegmentWriter?
    var head: HeadFile?
    var tally = WriteTally()
    /// When the oldest write was accepted, in milliseconds; nil when that is not known.
    var frontTime: Int64?
    var letters: DeadLetterFile
    /// Of the next segment.
    var nextNumber: Int64 = 1
    /// A file lost its name, and that may not be durable yet: a process before this one may have
    /// taken it.
    var isFolderDirty = true
    /// What was found damaged, and is not booked yet.
    var damage: [Damage] = []
    /// While loading: the segment that was read to an end that nothing proves, and the number up
    /// to which nothing is missing there.
    var openEnd: (id: SegmentID, known: Int64)?
    /// Names of damaged things, for the log.
    var noted: [String] = []
    /// The segment that was read last, and the place in it.
    var reading: Reading?
    /// What a crash has left is mended, and there may be appended.
    var isBegun = false

    struct Damage: Equatable {
        /// Nil: the end of the last one.
        let segment: SegmentID?
        var lost: SequenceSet
        var cause = QueueLosses.Cause.damaged
    }

    struct Reading {
        let reader: SegmentReader
        var cursor: FrameCursor
        var batch: BatchReader?
        /// It began at the segment's first frame and went by frames that open alone. Otherwise it
        /// was led by headers, which nothing proves.
        var isProven = false
    }

    var key: SecretBytes { vault.content.queue.key }
    var generation: Int64 { vault.content.queue.generation }

    /// Room that only what leaves the queue, and the vault, may take; on a small file system an
    /// eighth of it.
    private static let lastRoom: Int64 = 8 << 20

    init(in stateFolder: String, _ vault: Vault, segmentBytes: Int) throws(StoreError) {
        folder = OutboxFolder(in: stateFolder)
        self.vault = vault
        self.segmentBytes = segmentBytes
        letters = DeadLetterFile(folder.dead(vault.content.queue.generation))
        try load()
    }

    /// How full the queue is.
    func usage() -> QueueState {
        var state = QueueState(
            messages: live.count, bytes: segments.reduce(0) { $0 + $1.liveBytes },
            oldest: oldest())
        state.dead = letters.count
        state.losses = vault.content.queue.ledger.losses
        return state
    }

    /// Bytes of the files.
    var fileBytes: Int64 {
        segments.reduce(0) { $0 + Int64($1.size) }
            + (PrivateFile.isThere(folder.spare) ? Int64(segmentBytes) : 0)
    }

    /// What is damaged and not booked yet has not left: the next start must miss it again.
    var marks: QueueMarks {
        var held = live
        for one in damage { held.formUnion(one.lost) }
        return QueueMarks(live: held, last: lastSequence)
    }

    /// Throws where frames of so many bytes may not be appended now: the disk may not be written,
    /// or is so full that what is left is needed to take things out of the queue again.
    func checkRoom(for bytes: Int) throws(StoreError) {
        guard let space = FileSystemSpace(at: folder.path) else { return }
        guard !space.isReadOnly else { throw .unavailable(.readOnly) }
        let needed = min(Self.lastRoom, space.total / 8) + newFile(for: bytes)
        guard space.available >= needed else { throw .unavailable(.full) }
    }

    /// Bytes that a new segment takes for these frames; 0 where they fit into the last one, or
    /// the spare file takes them.
    private func newFile(for bytes: Int) -> Int64 {
        if bytes == 0 { return 0 }
        if let last = segments.last, last.capacity - last.end >= bytes { return 0 }
        if bytes < segmentBytes, PrivateFile.isThere(folder.spare) { return 0 }
        return Int64(max(segmentBytes, bytes))
    }

    func reader(_ segment: Segment) throws(StoreError) -> SegmentReader {
        if let reading, reading.reader.id == segment.id { return reading.reader }
        return try SegmentReader(folder.segment(segment.id), segment.id, key)
    }

    func note(_ name: String) {
        if noted.count < 100, !noted.contains(name) { noted.append(name) }
    }

    func took(_ bytes: Int64) {
        tally.add(bytes, at: Timestamp(milliseconds: SystemClock.wallMilliseconds))
    }

    /// Writes down what has left. Not synced.
    func saveHead() throws(StoreError) {
        guard isBegun else { return }
        took(Int64(vault.takeWritten()))
        try head?.write(marks, tally)
    }
}
