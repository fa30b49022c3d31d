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

    /// The header of the frame at `offset`; nil where none begins. It is not proven yet.
    func header(at offset: Int) throws(StoreError) -> FrameHeader? {
        try load(FrameHeader.byteCount, at: offset)
        return FrameHeader(buffer[...])
    }

    /// The frame at `offset`, opened; nil where there is none, or any bit of it differs.
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

    /// Passes over frames by their headers while `isDone` says so: where the first other one
    /// begins, and the highest sequence before it. A header is believed where the next one follows
    /// it.
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

    /// The segment as its summary has it; nil where there is none that opens.
    func summarized() throws(StoreError) -> Segment? {
        let place = size - Segment.summaryBytes
        guard place > 0, let frame = try open(.summary, at: place) else { return nil }
        return Segment(id, size: size, summary: frame.plaintext)
    }

    /// The highest number that an end mark behind `offset` names: see `EndMark`.
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

    /// The next frame of `kind` at or behind `offset` that opens and holds later writes than
    /// `sequence`: a file that was used before has old frames behind its end.
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

/// Walks the frames of a segment, also past damaged ones.
struct FrameCursor {
    enum Step {
        case frame(FrameHeader, [UInt8], at: Int)
        /// What stood from here to the next frame that opens, or to the end, does not open.
        case damage(Range<Int>)
        case end
    }

    private let reader: SegmentReader
    private let kind: FrameKind
    /// Where the frames end; nil: where none opens any more.
    var end: Int?
    private let isRising: Bool
    private(set) var offset: Int
    /// The highest sequence that was met.
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
        // A file that was cut has frames where its summary would be.
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
        // A torn end: nobody was told that it is safe.
        if next == nil, end == nil { return .end }
        offset = next ?? limit
        return .damage(begin..<offset)
    }
}
