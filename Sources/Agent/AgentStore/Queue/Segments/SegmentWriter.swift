import Gate
import LinuxIO
import Sessions

/// The segment that is written: frames go behind one another, and are durable together.
final class SegmentWriter {
    private let file: LogFile
    private var cipher: SegmentCipher
    private(set) var segment: Segment
    private var buffer: [UInt8] = []
    /// Something was written or synced in vain: what the file holds is not to be trusted.
    private(set) var isBroken = false
    /// Bytes that the disk has had to write since the last call of `takeWritten`.
    private var written: Int64 = 0

    /// Goes on in a file that was made for it, or used before: with `opening` as its first frame.
    /// Nothing is durable yet.
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

    /// Goes on behind the last frame of a file that was written before.
    ///
    /// Its newest frame is written once more, in its place, and synced: a sync may have failed
    /// before, and then the kernel shows what the disk does not hold. A summary goes: frames that
    /// follow would not be in it.
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
        // Apart: where a sync is cut, what is overwritten with the same bytes stays as it is.
        try write(mark, at: segment.end)
        try sync()
    }

    /// See `EndMark`. Nothing where there are no writes yet, or where a file that was cut has no
    /// room.
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

    /// Room for frames that is left, in bytes.
    var room: Int { segment.capacity - segment.end }

    /// Adds a frame in memory; `flush` writes it.
    func add(_ body: FrameBody, _ writes: ArraySlice<AcceptedWrite>) throws(StoreError) {
        let offset = segment.end
        let header = try cipher.seal(body.bytes, body.header, .batch, at: offset, into: &buffer)
        segment.note(header, endingAt: offset + header.byteCount)
        for write in writes { segment.note(write) }
    }

    /// Writes what was added, and makes it durable. When it throws, the file is broken: nothing
    /// more is written to it.
    func flush() throws(StoreError) {
        guard !isBroken else { throw .unavailable(.inputOutput("\(file.path): written in vain")) }
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

    /// Writes the summary. It needs no sync: without it the segment is read through.
    func close() throws(StoreError) {
        guard !isBroken, let summary = segment.summary else { return }
        var frame: [UInt8] = []
        let place = segment.size - Segment.summaryBytes
        // A file that was cut has no room for it.
        guard place >= segment.end else { return }
        try cipher.seal(summary, .none, .summary, at: place, into: &frame)
        do throws(FileFailure) {
            try file.write(frame, at: place)
        } catch {
            // It is read through.
            return
        }
        written += WriteTally.bytes(frame.count, at: place)
    }

    func takeWritten() -> Int64 {
        defer { written = 0 }
        return written
    }
}
