import Gate
import LinuxIO
import Sessions

/// Writes the newest segment. Frames follow each other. `flush` makes all added ones durable.
final class SegmentWriter {
    private let file: LogFile
    private var cipher: SegmentCipher
    private(set) var segment: Segment
    private var buffer: [UInt8] = []
    /// A write or sync has failed, so the content of the file is uncertain.
    private(set) var isBroken = false
    /// The bytes written to disk since the last call of `takeWritten`.
    private var written: Int64 = 0

    /// Starts a segment in a new or reused file, with `opening` as its first frame. Nothing is
    /// durable yet.
    init(
        _ file: consuming LogFile, _ id: SegmentID, _ key: SecretBytes, opening: [UInt8]
    ) throws(StoreError) {
        cipher = try SegmentCipher(key, id)
        segment = Segment(id, size: file.size)
        self.file = file
        let begun = try cipher.seal(opening, .none, .opening, at: 0, into: &buffer)
        segment.end = begun.byteCount
        segment.start = segment.end
    }

    /// Continues after the last frame of an existing file.
    ///
    /// The newest frame is written again in its place and synced. An earlier sync may have
    /// failed, and then the kernel shows data that the disk does not have. The summary is
    /// removed, because it would not include later frames.
    ///
    /// Source: lwn.net/Articles/752063.
    init(
        resuming file: consuming LogFile, _ segment: Segment, _ key: SecretBytes
    ) throws(StoreError) {
        cipher = try SegmentCipher(key, segment.id)
        self.segment = segment
        self.file = file
        let newest: [UInt8]
        do throws(FileFailure) {
            try removeSummary()
            newest = try self.file.read(segment.end - segment.newest, at: segment.newest)
        } catch {
            throw StoreError(error)
        }
        try write(newest, at: segment.newest)
        // Write the mark separately. If a sync is interrupted, bytes that were overwritten with
        // the same bytes stay intact.
        try write(mark, at: segment.end)
        try sync()
    }

    /// The end mark: see `EndMark`. Empty if there are no writes yet, or if a cut file has no
    /// space.
    private var mark: [UInt8] {
        var bytes: [UInt8] = []
        if segment.last > 0, segment.end <= segment.capacity {
            EndMark.encode(segment.last, into: &bytes)
        }
        return bytes
    }

    /// Durable with the next sync.
    private func removeSummary() throws(FileFailure) {
        let place = segment.size - Segment.summaryBytes
        guard place > 0, try header(at: place) != nil else { return }
        try file.write([UInt8](repeating: 0, count: FrameHeader.byteCount), at: place)
    }

    private func header(at offset: Int) throws(FileFailure) -> FrameHeader? {
        FrameHeader(try file.read(FrameHeader.byteCount, at: offset)[...])
    }

    /// The space left for frames, in bytes.
    var room: Int { segment.capacity - segment.end }

    /// Adds a frame in memory; `flush` writes it.
    func add(_ body: FrameBody, _ writes: ArraySlice<AcceptedWrite>) throws(StoreError) {
        let offset = segment.end
        let header = try cipher.seal(body.bytes, body.header, .batch, at: offset, into: &buffer)
        segment.note(header, endingAt: offset + header.byteCount)
        for write in writes { segment.note(write) }
    }

    /// Writes the added frames and makes them durable. If it throws, the file is broken and
    /// nothing more is written to it.
    func flush() throws(StoreError) {
        guard !isBroken else { throw .unavailable(.inputOutput("\(file.path): failed earlier")) }
        guard !buffer.isEmpty else { return }
        let offset = segment.end - buffer.count
        buffer += mark
        try write(buffer, at: offset)
        try sync()
        buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 20)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(StoreError) {
        try onFile { () throws(FileFailure) in
            guard file.hasName else { throw .missing(path: file.path) }
            try file.write(bytes, at: offset)
        }
        written += WriteTally.bytes(bytes.count, at: offset)
    }

    private func sync() throws(StoreError) {
        try onFile { () throws(FileFailure) in try file.sync() }
    }

    private func onFile(_ body: () throws(FileFailure) -> Void) throws(StoreError) {
        do throws(FileFailure) {
            try body()
        } catch {
            isBroken = true
            throw .unavailable(.inputOutput("\(error)"))
        }
    }

    /// Writes the summary. It needs no sync: without it the segment is read completely.
    func close() throws(StoreError) {
        guard !isBroken, let summary = segment.summary else { return }
        var frame: [UInt8] = []
        let place = segment.size - Segment.summaryBytes
        // A cut file has no space for the summary.
        guard place >= segment.end else { return }
        try cipher.seal(summary, .none, .summary, at: place, into: &frame)
        do throws(FileFailure) {
            try file.write(frame, at: place)
        } catch {
            // Without a summary the segment is read completely.
            return
        }
        written += WriteTally.bytes(frame.count, at: place)
    }

    func takeWritten() -> Int64 {
        defer { written = 0 }
        return written
    }
}
