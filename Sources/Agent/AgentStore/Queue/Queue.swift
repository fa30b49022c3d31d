import AgentCore
import Gate
import LinuxIO
import Sessions

/// The durable queue: an append-only log of segments.
///
/// A batch is one write and one sync. Marks record which writes have left. They need no sync:
/// after a power cut such writes may come back, with the same sequence numbers. Opening the queue
/// reads it and changes nothing. `begin` repairs it after a crash.
final class Queue {
    let folder: OutboxFolder
    let vault: Vault
    /// The size of a new segment's file in bytes.
    let segmentBytes: Int
    /// In rising order. The writer, if there is one, writes the last.
    var segments: [Segment] = []
    /// The sequence numbers of all writes that are not delivered yet.
    var live = SequenceSet()
    var lastSequence: Int64 = 0
    /// The newest bus packets, in order.
    var window: [DeliveredPacket] = []
    /// The keys of the last writes, oldest first, as they are on disk.
    var keys: [KeptKey] = []
    /// The keys of writes that the upstream broker has and that were never on disk.
    var unsavedKeys: [KeptKey] = []
    /// Nil before the first write.
    var writer: SegmentWriter?
    var head: HeadFile?
    var tally = WriteTally()
    /// When the oldest write was accepted, in milliseconds. Nil: not known.
    var frontTime: Int64?
    var letters: DeadLetterFile
    /// The number of the next segment.
    var nextNumber: Int64 = 1
    /// Whether a removed file name may not be durable yet. An earlier process may have removed
    /// it.
    var isFolderDirty = true
    /// Damage that was found and is not booked yet.
    var damage: [Damage] = []
    /// While loading: the segment whose end is not proven, and the number up to which nothing is
    /// missing there.
    var openEnd: (id: SegmentID, known: Int64)?
    /// Names of damaged things, for the log.
    var noted: [String] = []
    /// The last read segment, and the position in it.
    var reading: Reading?
    /// Whether the queue is repaired after a crash and ready for appends.
    var isBegun = false

    struct Damage: Equatable {
        /// Nil: the end of the last segment.
        let segment: SegmentID?
        var lost: SequenceSet
        var cause = QueueLosses.Cause.damaged
    }

    struct Reading {
        let reader: SegmentReader
        var cursor: FrameCursor
        var batch: BatchReader?
        /// True if the cursor began at the segment's first frame and followed only frames that
        /// open. Otherwise it followed headers, which are not proven.
        var isProven = false
    }

    var key: SecretBytes { vault.content.queue.key }
    var generation: Int64 { vault.content.queue.generation }

    /// Bytes that are reserved for removals from the queue and for the vault, but at most an
    /// eighth of the file system.
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

    /// The bytes of all queue files.
    var fileBytes: Int64 {
        segments.reduce(0) { $0 + Int64($1.size) }
            + (PrivateFile.isThere(folder.spare) ? Int64(segmentBytes) : 0)
    }

    /// The current marks. Damage that is not booked yet counts as still queued, so that the next
    /// start finds it again.
    var marks: QueueMarks {
        var held = live
        for one in damage { held.formUnion(one.lost) }
        return QueueMarks(live: held, last: lastSequence)
    }

    /// Throws if frames with this many bytes cannot be appended now. Either the disk is
    /// read-only, or its last space is reserved for removing writes from the queue.
    func checkRoom(for bytes: Int) throws(StoreError) {
        guard let space = FileSystemSpace(at: folder.path) else { return }
        guard !space.isReadOnly else { throw .unavailable(.readOnly) }
        let needed = min(Self.lastRoom, space.total / 8) + newFile(for: bytes)
        guard space.available >= needed else { throw .unavailable(.full) }
    }

    /// The bytes that a new segment would take for these frames. 0 if they fit into the last
    /// segment or into the spare file.
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

    /// Saves the marks of the writes that have left. Not synced.
    func saveHead() throws(StoreError) {
        guard isBegun else { return }
        took(Int64(vault.takeWritten()))
        try head?.write(marks, tally)
    }
}
