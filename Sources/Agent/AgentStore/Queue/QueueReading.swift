import AgentCore
import Gate
import LinuxIO
import Sessions

// Reads writes from the queue.
extension Queue {
    /// Returns the writes after `sequence`, in order. Returns at most `limit` writes, and stops
    /// once their payloads reach `bytes`. Empty only if there are no more.
    ///
    /// Unreadable writes are booked as lost and skipped. They never block the rest.
    func next(
        after sequence: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> [AcceptedWrite] {
        var part = QueuePart(position: sequence, limit: limit, bytes: bytes)
        while !part.isFull, let index = segments.firstIndex(where: { $0.last > part.position }) {
            let segment = segments[index]
            guard live.overlaps(part.position + 1...segment.last) else {
                part.position = segment.last
                continue
            }
            try seek(segment, part.position)
            try read(segment, &part)
        }
        if !damage.isEmpty, isBegun { try bookDamage() }
        return part.writes
    }

    /// Moves the reading position into this segment, not beyond the write after `sequence`.
    private func seek(_ segment: Segment, _ sequence: Int64) throws(StoreError) {
        if let place = reading, place.reader.id == segment.id {
            if place.batch.map({ $0.header.first <= sequence + 1 }) ?? false { return }
            if place.batch == nil, place.cursor.last <= sequence { return }
        }
        let reader = try reader(segment)
        let (offset, before) = try reader.skip(from: segment.start, to: segment.end) {
            $0.last <= sequence
        }
        reading = Reading(
            reader: reader,
            cursor: FrameCursor(reader, from: offset, to: segment.end, after: before))
    }

    private func read(_ segment: Segment, _ part: inout QueuePart) throws(StoreError) {
        guard var place = reading.take() else { return }
        place.cursor.end = segment.end
        while !part.isFull {
            if var batch = place.batch {
                if batch.position > part.position { batch.rewind() }
                while !part.isFull, let item = batch.next() {
                    if item.sequence > part.position, live.contains(item.sequence) {
                        part.add(batch.write(item))
                    }
                }
                place.batch = batch
                if part.isFull { break }
                part.position = max(part.position, batch.header.last)
            }
            let batch = try nextBatch(&place.cursor, segment)
            let missing = live.missing(
                of: segment, from: part.position + 1, before: batch?.header.first)
            if !missing.isEmpty, !place.isProven {
                // A wrong header may have skipped readable frames: read the segment again from
                // its beginning.
                place = Reading(
                    reader: place.reader,
                    cursor: FrameCursor(place.reader, from: 0, to: segment.end), isProven: true)
                continue
            }
            noteDamage(Damage(segment: segment.id, lost: missing))
            guard let batch else { return part.position = max(part.position, segment.last) }
            place.batch = batch
        }
        reading = place
    }

    /// The next frame that can be opened.
    private func nextBatch(
        _ cursor: inout FrameCursor, _ segment: Segment
    ) throws(StoreError) -> BatchReader? {
        while true {
            switch try cursor.next() {
            case .end: return nil
            case .damage: continue
            case .frame(let header, let plaintext, _):
                guard let batch = BatchReader(plaintext, header) else {
                    throw .newerForm(file: folder.segment(segment.id))
                }
                return batch
            }
        }
    }

    private func noteDamage(_ new: Damage) {
        if !new.lost.isEmpty, !damage.contains(new) { damage.append(new) }
    }

    /// Passes each readable frame of a segment to `body`, in order. Starts at the first live
    /// frame, or at the beginning.
    func forEachFrame(
        of segment: Segment, fromBeginning: Bool = false,
        _ body: (inout BatchReader) throws(StoreError) -> Void
    ) throws(StoreError) {
        let reader = try reader(segment)
        var cursor = FrameCursor(
            reader, from: fromBeginning ? 0 : segment.start, to: segment.end)
        while true {
            switch try cursor.next() {
            case .end: return
            case .damage: continue
            case .frame(let header, let plaintext, _):
                guard var batch = BatchReader(plaintext, header) else {
                    throw .newerForm(file: folder.segment(segment.id))
                }
                try body(&batch)
            }
        }
    }

    /// When the oldest queued write was accepted.
    func oldest() -> Timestamp? {
        guard !live.isEmpty else { return nil }
        if frontTime == nil, let segment = segments.first(where: \.isLive),
            let reader = try? reader(segment)
        {
            frontTime = (try? reader.header(at: segment.start))??.oldest
        }
        return frontTime.map(Timestamp.init(milliseconds:))
    }

    /// The users of the queued writes and dead letters, at most 16.
    func users() throws(StoreError) -> [String] {
        var users = segments.filter { $0.isLive && live.overlaps(0...$0.last) }
            .reduce(into: Set<String>()) { $0.formUnion($1.users) }
        for letter in try deadLetters(limit: 1000) { users.insert(letter.write.user.description) }
        return Array(users.sorted().prefix(16))
    }
}

extension SequenceSet {
    /// The numbers of a segment from `first` on that were not found before the frame that begins
    /// with `next`. Nil: before the segment's end.
    fileprivate func missing(of segment: Segment, from first: Int64, before next: Int64?) -> Self {
        let begin = max(first, segment.stored.first ?? first)
        let end = min(next.map { $0 - 1 } ?? segment.last, segment.last)
        return begin <= end ? part(in: begin...end) : SequenceSet()
    }
}

/// The result of one call of `next`.
private struct QueuePart {
    private(set) var writes: [AcceptedWrite] = []
    /// All numbers up to this one were checked.
    var position: Int64
    private let limit: Int
    private let bytes: Int
    private var size = 0

    init(position: Int64, limit: Int, bytes: Int) {
        self.position = position
        self.limit = limit
        self.bytes = bytes
    }

    var isFull: Bool { writes.count >= limit || size >= bytes }

    mutating func add(_ write: AcceptedWrite) {
        size += write.payload.count
        position = write.sequence
        writes.append(write)
    }
}
