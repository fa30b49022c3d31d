import AgentCore
import Gate
import LinuxIO
import Sessions

// Appends writes, and creates segments for them.
extension Queue {
    /// Repairs the queue after a crash. Runs before anything is changed or acknowledged.
    func begin() throws(StoreError) {
        guard !isBegun else { return }
        try folder.prepare()
        // Otherwise the old vault could come back, without the removals that follow.
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
        // An empty file shows that numbers are missing until the loss is booked.
        if damage.isEmpty { try remove(empty) }
        try finishBurials()
        try freeSegments()
    }

    /// Creates a segment if the vault names a newer one than exists. Otherwise the next start
    /// would find the loss again.
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

    /// Opens the head file. Without it, writes that have left are sent again after a crash. That
    /// is no reason to stop.
    private func openHead() throws(StoreError) {
        do throws(StoreError) {
            head = try HeadFile(folder.head, key, generation: generation)
            tally = head?.said?.tally ?? tally
        } catch {
            guard error.mayPass else { throw error }
        }
    }

    /// Continues in the last segment.
    private func resume() throws(StoreError) {
        guard writer == nil, let last = segments.last else { return }
        let file = try folder.onFile { () throws(FileFailure) in
            try LogFile(folder.segment(last.id))
        }
        writer = try SegmentWriter(resuming: file, last, key)
    }

    /// Appends writes, the bus packets that brought them, and their keys. All are durable when it
    /// returns.
    /// The sequence numbers rise and are above `lastSequence`.
    ///
    /// Each frame is durable before the next is written. If it throws, nothing was added, except
    /// after `unavailable(.inputOutput)`: then the queue must be opened again, and may contain the
    /// first of the writes.
    func append(
        _ writes: [AcceptedWrite], _ packets: [DeliveredPacket], _ keys: [KeptKey]
    ) throws(StoreError) {
        guard !writes.isEmpty else { return }
        try begin()
        var before = lastSequence
        for write in writes {
            guard write.sequence > before else {
                throw .outOfOrder(sequence: write.sequence, last: before)
            }
            before = write.sequence
        }
        let frames = try self.frames(of: writes, packets, unsavedKeys + keys)
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
        guard !frame.keys.isEmpty else { return }
        // The first frame has all unsaved keys.
        unsavedKeys.removeAll()
        keys.append(contentsOf: frame.keys)
        keys.keepNewest()
    }

    static func byteCount(_ body: FrameBody) -> Int {
        FrameHeader.rounded(FrameHeader.byteCount + RecordBox.overhead + body.bytes.count)
    }

    struct Frame {
        var body: FrameBody
        let writes: ArraySlice<AcceptedWrite>
        let packets: [DeliveredPacket]
        let keys: [KeptKey]
    }

    /// Groups the writes by session. Each frame contains the current marks, the packets that
    /// brought its writes, and their keys.
    func frames(
        of writes: [AcceptedWrite], _ packets: [DeliveredPacket], _ keys: [KeptKey]
    ) throws(StoreError) -> [Frame] {
        var frames: [Frame] = []
        var (rest, marks, packets, keys) = (writes[...], marks, packets, keys)
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
            let given = keys.filter { $0.sequence < next }
            keys.removeAll { $0.sequence < next }
            body.close { bytes in
                marks.encode(into: &bytes)
                WindowCoding.encode(brought, into: &bytes)
                KeyCoding.encode(given, into: &bytes)
            }
            frames.append(Frame(body: body, writes: own, packets: brought, keys: given))
            marks.last = own.last?.sequence ?? marks.last
        }
        return frames
    }

    /// Copies the writer's state into `segments` and the tally.
    func mirrorWriter() {
        guard let segment = writer?.segment, let index = segments.indices.last,
            segments[index].id == segment.id
        else { return }
        let start = segments[index].start
        segments[index] = segment
        segments[index].start = start
        took(writer?.takeWritten() ?? 0)
    }

    /// Begins the next segment, with space for this many bytes. Changes nothing if it throws.
    ///
    /// Its first frame is durable when this returns. It repeats the numbers, packets, keys and
    /// marks of the earlier segments, so these may be removed.
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

    /// The first frame of a segment: the current marks, the packets that may be delivered again,
    /// and the keys.
    var opening: [UInt8] {
        SegmentOpening(
            marks: marks, packets: window.suffix(Self.windowLimit),
            keys: keys.newest).bytes
    }

    /// Makes a file for a segment with this many bytes from the spare file, or a new one. Its
    /// name is durable.
    ///
    /// The new name of a spare file is durable before anything is written to it. Otherwise a
    /// power cut could leave new content under the old name.
    func makeFile(_ path: String, for bytes: Int) throws(StoreError) -> LogFile {
        let needed = (bytes + 2 * Segment.summaryBytes) / WriteTally.page + 1
        let size = max(segmentBytes, needed * WriteTally.page)
        let isSpare = size == segmentBytes && PrivateFile.isThere(folder.spare)
        let file = try folder.onFile { () throws(FileFailure) in
            guard isSpare else {
                // Remove the file of an earlier attempt whose sync had no space.
                try PrivateFile.unlink(path)
                return try LogFile(making: path, size: size)
            }
            try PrivateFile.rename(folder.spare, to: path)
            return try LogFile(path)
        }
        guard file.size == size else {
            // The spare file has the size of another configuration.
            _ = consume file
            try folder.onFile { () throws(FileFailure) in try PrivateFile.remove(path) }
            return try makeFile(path, for: bytes)
        }
        try folder.sync()
        isFolderDirty = false
        return file
    }
}
