import AgentCore
import Gate
import LinuxIO
import Sessions

// What is added, and the segments it goes to.
extension Queue {
    /// Mends what a crash has left. Comes before anything is changed or acknowledged.
    func begin() throws(StoreError) {
        guard !isBegun else { return }
        try folder.prepare()
        // Else its old one could come back, and miss what is removed now.
        try vault.settle()
        let contents = try folder.contents(of: generation)
        let known = Set(segments.map(\.id))
        let empty = contents.segments.filter { !known.contains($0) }.map(folder.segment)
        try remove(contents.leftovers.map { "\(folder.path)/\($0)" })
        try openHead()
        try resume()
        isBegun = true
        try replaceLost()
        try bookDamage()
        // An empty file tells what is missing until that is booked.
        if damage.isEmpty { try remove(empty) }
        try finishBurials()
        try freeSegments()
    }

    /// The vault names a newer segment than there is: the next start would miss it again.
    private func replaceLost() throws(StoreError) {
        guard segments.last?.id.number ?? 0 < vault.content.queue.segment else { return }
        do throws(StoreError) {
            try rotate(for: 0)
        } catch {
            guard error.mayPass else { throw error }
        }
    }

    private func remove(_ paths: [String]) throws(StoreError) {
        for path in paths {
            try folder.onFile { () throws(FileFailure) in try PrivateFile.remove(path) }
        }
    }

    /// Without a head what has left is sent once more after a crash; that is no reason to stop.
    private func openHead() throws(StoreError) {
        do throws(StoreError) {
            head = try HeadFile(folder.head, key, generation: generation)
            tally = head?.said?.tally ?? tally
        } catch {
            guard error.mayPass else { throw error }
        }
    }

    /// Goes on in the last segment.
    private func resume() throws(StoreError) {
        guard writer == nil, let last = segments.last else { return }
        let file = try folder.onFile { () throws(FileFailure) in
            try LogFile(folder.segment(last.id))
        }
        writer = try SegmentWriter(resuming: file, last, key)
    }

    /// Adds writes, and the packets of the bus that brought them; durable when it returns. Their
    /// sequences rise, also above `lastSequence`.
    ///
    /// Each frame is durable before the next is written. When it throws, nothing was added; but
    /// after `unavailable(.inputOutput)` the queue is to be opened again, which may show the first
    /// of them.
    func append(_ writes: [AcceptedWrite], _ packets: [DeliveredPacket]) throws(StoreError) {
        guard !writes.isEmpty else { return }
        try begin()
        var before = lastSequence
        for write in writes {
            guard write.sequence > before else {
                throw .outOfOrder(sequence: write.sequence, last: before)
            }
            before = write.sequence
        }
        let frames = try self.frames(of: writes, packets)
        let size = frames.reduce(0) { $0 + Self.byteCount($1.body) }
        try checkRoom(for: size)
        if (writer?.room ?? 0) < size { try rotate(for: size) }
        for frame in frames {
            try writer?.add(frame.body, frame.writes)
            try writer?.flush()
            mirrorWriter()
            took(frame)
        }
    }

    private func took(_ frame: Frame) {
        let header = frame.body.header
        if live.isEmpty { frontTime = header.oldest }
        if header.isDense {
            live.insert(header.first...header.last)
        } else {
            for write in frame.writes { live.insert(write.sequence) }
        }
        lastSequence = header.last
        window.append(contentsOf: frame.packets)
        if window.count >= 2 * Self.windowLimit { window.removeFirst(Self.windowLimit) }
    }

    static func byteCount(_ body: FrameBody) -> Int {
        FrameHeader.rounded(FrameHeader.byteCount + RecordBox.overhead + body.bytes.count)
    }

    struct Frame {
        var body: FrameBody
        let writes: ArraySlice<AcceptedWrite>
        let packets: [DeliveredPacket]
    }

    /// The writes by session, each frame with the marks of now and the packets that brought it.
    func frames(
        of writes: [AcceptedWrite], _ packets: [DeliveredPacket]
    ) throws(StoreError) -> [Frame] {
        var frames: [Frame] = []
        var (rest, marks, packets) = (writes[...], marks, packets)
        while let first = rest.first {
            var body = FrameBody(session: first.session, user: first.user)
            var count = 0
            while let write = rest.dropFirst(count).first, write.session == first.session,
                write.user == first.user, body.takes(write.sequence)
            {
                guard body.append(write) else {
                    throw .corrupt("write \(write.sequence): its topic is too long")
                }
                count += 1
            }
            let own = rest.prefix(count)
            rest = rest.dropFirst(count)
            let next = rest.first?.sequence ?? .max
            let brought = packets.filter { $0.sequence < next }
            packets.removeAll { $0.sequence < next }
            body.close { bytes in
                marks.encode(into: &bytes)
                WindowCoding.encode(brought, into: &bytes)
            }
            frames.append(Frame(body: body, writes: own, packets: brought))
            marks.last = own.last?.sequence ?? marks.last
        }
        return frames
    }

    /// What the writer has done, for all others to see.
    func mirrorWriter() {
        guard let segment = writer?.segment, let index = segments.indices.last,
            segments[index].id == segment.id
        else { return }
        let start = segments[index].start
        segments[index] = segment
        segments[index].start = start
        took(writer?.takeWritten() ?? 0)
    }

    /// Begins the next segment, with room for so many bytes. Nothing changed where it throws.
    ///
    /// Its first frame is durable when this returns: the segments before it, which tell the same
    /// numbers, packets and marks, may go then.
    func rotate(for bytes: Int) throws(StoreError) {
        let id = SegmentID(generation: generation, number: nextNumber)
        let opening = opening
        let file = try makeFile(folder.segment(id), for: bytes + opening.count)
        let next = try SegmentWriter(file, id, key, opening: opening)
        try next.flush()
        try closeWriter()
        nextNumber += 1
        segments.append(next.segment)
        writer = next
        try freeSegments()
    }

    func closeWriter() throws(StoreError) {
        try writer?.close()
        mirrorWriter()
        writer = nil
    }

    /// The first frame of a segment: the marks of now, and the packets that may come again.
    var opening: [UInt8] {
        SegmentOpening(marks: marks, packets: window.suffix(Self.windowLimit)).bytes
    }

    /// A file for a segment with so many bytes: the spare one, or a new one. Its name is durable.
    ///
    /// A spare one has its new name for good before it is written, else a power cut could show
    /// its new content under the old name.
    func makeFile(_ path: String, for bytes: Int) throws(StoreError) -> LogFile {
        let needed = (bytes + 2 * Segment.summaryBytes) / WriteTally.page + 1
        let size = max(segmentBytes, needed * WriteTally.page)
        let isSpare = size == segmentBytes && PrivateFile.isThere(folder.spare)
        let file = try folder.onFile { () throws(FileFailure) in
            guard isSpare else {
                // What an attempt has left whose sync had no room.
                try PrivateFile.unlink(path)
                return try LogFile(making: path, size: size)
            }
            try PrivateFile.rename(folder.spare, to: path)
            return try LogFile(path)
        }
        guard file.size == size else {
            // Of another configuration.
            _ = consume file
            try folder.onFile { () throws(FileFailure) in try PrivateFile.remove(path) }
            return try makeFile(path, for: bytes)
        }
        try folder.sync()
        isFolderDirty = false
        return file
    }
}
