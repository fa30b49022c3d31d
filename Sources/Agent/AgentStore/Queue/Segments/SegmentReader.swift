import LinuxIO
import Sessions

/// Reads the frames of one segment.
final class SegmentReader {
    let id: SegmentID
    private let file: LogFile
    private var cipher: SegmentCipher
    private var buffer: [UInt8] = []

    var size: Int { file.size }

    init(_ path: String, _ id: SegmentID, _ key: SecretBytes) throws(StoreError) {
        self.id = id
        cipher = try SegmentCipher(key, id)
        do throws(FileFailure) {
            file = try LogFile(path, isReadOnly: true)
        } catch {
            throw StoreError(error)
        }
    }

    private func load(_ count: Int, at offset: Int) throws(StoreError) {
        do throws(FileFailure) {
            buffer = try file.read(count, at: offset)
        } catch {
            throw StoreError(error)
        }
    }

    /// The header of the frame at `offset`. Nil if no frame begins there. It is not authenticated
    /// yet.
    func header(at offset: Int) throws(StoreError) -> FrameHeader? {
        try load(FrameHeader.byteCount, at: offset)
        return FrameHeader(buffer[...])
    }

    /// The opened frame at `offset`. Nil if there is none or any bit was changed.
    func open(
        _ kind: FrameKind, at offset: Int
    ) throws(StoreError) -> (header: FrameHeader, plaintext: [UInt8])? {
        guard let header = try header(at: offset),
            header.byteCount <= size - offset
        else { return nil }
        try load(FrameHeader.byteCount + header.sealedBytes, at: offset)
        guard let plaintext = try cipher.open(buffer, header, kind, at: offset) else { return nil }
        return (header, plaintext)
    }

    /// Skips frames by their headers while `isDone` is true. Returns the offset of the first
    /// other frame, and the highest sequence number before it. A header is accepted only if the
    /// next header, or `end`, follows at its end.
    func skip(
        from begin: Int, to end: Int, while isDone: (FrameHeader) -> Bool
    ) throws(StoreError) -> (offset: Int, last: Int64) {
        var (offset, last): (Int, Int64) = (begin, 0)
        var here = offset < end ? try header(at: offset) : nil
        while let header = here, isDone(header) {
            let behind = offset + header.byteCount
            here = behind < end ? try self.header(at: behind) : nil
            guard behind == end || here.map({ $0.first > header.last }) ?? false else { break }
            (offset, last) = (behind, header.last)
        }
        return (offset, last)
    }

    /// The segment from its summary. Nil if there is no summary that can be opened.
    func summarized() throws(StoreError) -> Segment? {
        let place = size - Segment.summaryBytes
        guard place > 0, let frame = try open(.summary, at: place) else { return nil }
        return Segment(id, size: size, summary: frame.plaintext)
    }

    /// The highest number in the end marks after `offset`: see `EndMark`.
    func markedEnd(
        from offset: Int, after known: Int64, limit: Int64
    ) throws(StoreError) -> Int64? {
        let chunk = 65_536
        var (begin, highest): (Int, Int64?) = (FrameHeader.rounded(offset), nil)
        while begin + EndMark.byteCount <= size {
            try load(chunk + EndMark.byteCount, at: begin)
            if !LogFile.isBlank(buffer),
                let found = EndMark.highest(in: buffer, after: known, limit: limit)
            { highest = max(highest ?? 0, found) }
            begin += chunk
        }
        return highest
    }

    /// The offset of the next frame of `kind`, from `offset` on, that can be opened and has
    /// writes after `sequence`. A reused file contains old frames after its end.
    func find(
        _ kind: FrameKind, from offset: Int, to end: Int, after sequence: Int64
    ) throws(StoreError) -> Int? {
        let chunk = 65_536
        var begin = FrameHeader.rounded(offset)
        while begin + FrameHeader.byteCount <= end {
            try load(min(chunk + FrameHeader.byteCount, end - begin), at: begin)
            let bytes = buffer
            var place = LogFile.isBlank(bytes) ? chunk : 0
            while place < chunk, place + FrameHeader.byteCount <= bytes.count {
                if bytes[place] == FrameHeader.firstByte,
                    let header = FrameHeader(bytes[place...]), header.first > sequence,
                    begin + place + header.byteCount <= end,
                    try open(kind, at: begin + place) != nil
                { return begin + place }
                place += FrameHeader.alignment
            }
            begin += chunk
        }
        return nil
    }
}

/// Reads the frames of a segment in order, and skips damaged ones.
struct FrameCursor {
    enum Step {
        case frame(FrameHeader, [UInt8], at: Int)
        /// The bytes up to the next readable frame, or to the end, cannot be opened.
        case damage(Range<Int>)
        case end
    }

    private let reader: SegmentReader
    private let kind: FrameKind
    /// Where the frames end. Nil: after the last frame that can be opened.
    var end: Int?
    private let isRising: Bool
    private(set) var offset: Int
    /// The highest sequence number so far.
    private(set) var last: Int64

    init(
        _ reader: SegmentReader, _ kind: FrameKind = .batch, from offset: Int, to end: Int?,
        after last: Int64 = 0, isRising: Bool = true
    ) {
        self.reader = reader
        self.kind = kind
        self.end = end
        self.offset = offset
        self.last = last
        self.isRising = isRising
    }

    mutating func next() throws(StoreError) -> Step {
        // A cut file may contain frames in the place of its summary.
        let limit = end ?? reader.size
        guard offset < limit else { return .end }
        if let frame = try reader.open(kind, at: offset) {
            defer { offset += frame.header.byteCount }
            last = max(last, frame.header.last)
            return .frame(frame.header, frame.plaintext, at: offset)
        }
        let begin = offset
        let next = try reader.find(
            kind, from: begin + 1, to: limit, after: isRising ? last : -1)
        // A torn end: its writes were never acknowledged.
        if next == nil, end == nil { return .end }
        offset = next ?? limit
        return .damage(begin..<offset)
    }
}
