import AgentCore
import Gate
import LinuxIO

// Rewrites segments without the writes that have left.
extension Queue {
    /// Rewrites a segment with only its queued writes.
    func rewrite(_ id: SegmentID) throws(StoreError) {
        // The newest segment contains the keys, and the packets that may be delivered again.
        if writer?.segment.id == id { try rotate(for: 0) }
        let writes = try liveWrites(of: id)
        guard !writes.isEmpty, let index = segments.firstIndex(where: { $0.id == id })
        else { return }
        if reading?.reader.id == id { reading = nil }
        let frames = try self.frames(of: writes, [], [])
        let used = frames.reduce(0) { $0 + Self.byteCount($1.body) }
        let opening = opening(ofRewritten: index)
        let size = (used + opening.count + 2 * Segment.summaryBytes) / WriteTally.page + 1
        let path = folder.segment(id)
        let file = try folder.onFile { () throws(FileFailure) in
            try PrivateFile.unlink(path + ".new")
            return try LogFile(making: path + ".new", size: size * WriteTally.page)
        }
        let next = try SegmentWriter(file, id, key, opening: opening)
        for frame in frames { try next.add(frame.body, frame.writes) }
        try next.close()
        try next.flush()
        took(next.takeWritten())
        try folder.onFile { () throws(FileFailure) in
            try PrivateFile.move(path + ".new", to: path)
        }
        segments[index] = next.segment
        frontTime = nil
    }

    /// The queued writes of a segment. Books the unreadable ones.
    private func liveWrites(of id: SegmentID) throws(StoreError) -> [AcceptedWrite] {
        guard let segment = segments.first(where: { $0.id == id }), segment.isLive,
            let first = segment.stored.first
        else { return [] }
        var (writes, lost) = ([AcceptedWrite](), live.part(in: first...segment.last))
        try forEachFrame(of: segment, fromBeginning: true) { (batch) throws(StoreError) in
            while let item = batch.next() {
                if live.contains(item.sequence) { writes.append(batch.write(item)) }
            }
        }
        for run in Self.runs(writes.map(\.sequence)) { lost.remove(run) }
        try book(lost, of: id)
        return writes
    }

    /// The first frame of a rewritten segment. Later segments contain the marks, the packets and
    /// the keys.
    private func opening(ofRewritten index: Int) -> [UInt8] {
        let before = index > 0 ? segments[index - 1].last : 0
        let next = segments[(index + 1)...].lazy.compactMap(\.stored.first).first
        return SegmentOpening(
            marks: QueueMarks(last: before), end: next.map { $0 - 1 } ?? lastSequence).bytes
    }
}
