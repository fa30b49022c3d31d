import AgentCore
import Gate
import LinuxIO
import Sessions

// Loads the queue when a process starts.
extension Queue {
    static var windowLimit: Int { 1024 }
    /// The most sequence numbers that damage at the end of the queue can cost.
    private static var lostLimit: Int64 { 1 << 20 }

    /// Reads the queue. Changes nothing.
    func load() throws(StoreError) {
        let control = vault.content.queue
        let contents = try folder.contents(of: control.generation)
        nextNumber = max(contents.segments.last?.number ?? 0, control.segment) + 1
        var marks = QueueMarks()
        for id in contents.segments {
            let isLast = id == contents.segments.last
            guard let segment = try load(id, isLast: isLast, &marks) else { continue }
            segments.append(segment)
            live.formUnion(segment.stored)
            lastSequence = max(lastSequence, segment.last)
        }
        lastSequence = max(lastSequence, marks.last)
        if let said = HeadFile.peek(folder.head, key, generation: generation) { marks.merge(said) }
        noteLostEnd(max(marks.last, control.last), gone: marks.watermark)
        lastSequence = max(lastSequence, marks.last, control.last)
        try noteTornEnd()
        if contents.segments.last?.number ?? 0 < control.segment {
            // Whole files are missing, with the sequence numbers in them. Skip numbers so that
            // none is assigned twice.
            lastSequence += Self.lostLimit
            note("segments of the queue are missing")
        }
        for index in damage.indices {
            marks.apply(to: &damage[index].lost)
            damage[index].lost.subtract(control.givenUp)
        }
        damage.removeAll { $0.lost.isEmpty }
        marks.apply(to: &live)
        live.subtract(control.givenUp)
        for index in segments.indices { try advance(index) }
        window = window.filter { $0.sequence > control.windowFloor }.suffix(Self.windowLimit)
        letters = try DeadLetterFile.load(folder.dead(generation), key, generation: generation)
    }

    /// Notes damage if numbers above the last one in the segments were assigned. Then the end of
    /// a segment is damaged.
    private func noteLostEnd(_ last: Int64, gone watermark: Int64) {
        let known = max(lastSequence, watermark)
        guard last > known, last - known <= Self.lostLimit, !segments.isEmpty else { return }
        damage.append(Damage(segment: nil, lost: SequenceSet(known + 1...last)))
    }

    /// Notes a torn end: the newest frame cannot be opened, and may have contained numbers that
    /// only its end mark shows.
    private func noteTornEnd() throws(StoreError) {
        guard let segment = segments.last,
            let last = try reader(segment).markedEnd(
                from: segment.end, after: lastSequence, limit: Self.lostLimit)
        else { return }
        damage.append(Damage(
            segment: nil, lost: SequenceSet(lastSequence + 1...last), cause: .unknown))
        lastSequence = last
    }

    /// Loads one segment from its summary, or by reading it. Nil for a file that never was a
    /// segment.
    private func load(
        _ id: SegmentID, isLast: Bool, _ marks: inout QueueMarks
    ) throws(StoreError) -> Segment? {
        let reader = try SegmentReader(folder.segment(id), id, key)
        let opening = try reader.open(.opening, at: 0)
        let said = try opening.map { frame throws(StoreError) in
            try read(opening: frame.plaintext, id, &marks)
        }
        noteCutEnd(before: id, said?.marks.last ?? 0)
        if !isLast, let segment = try reader.summarized() { return segment }
        openEnd = (id, said?.end ?? 0)
        var segment = Segment(id, size: reader.size)
        let start = opening?.header.byteCount ?? 0
        (segment.start, segment.end) = (start, start)
        var cursor = FrameCursor(reader, from: start, to: nil, after: lastSequence)
        if opening == nil {
            // Its creation was interrupted, or its beginning is damaged.
            guard try reader.find(.batch, from: 0, to: segment.size, after: lastSequence) != nil
            else { return nil }
        }
        while true {
            let before = max(lastSequence, segment.last)
            switch try cursor.next() {
            case .end: return segment
            case .damage:
                guard case .frame(let header, let plaintext, let place) = try cursor.next() else {
                    return segment
                }
                if header.first > before + 1 {
                    let lost = SequenceSet(before + 1...header.first - 1)
                    damage.append(Damage(segment: id, lost: lost))
                }
                try take(header, plaintext, at: place, into: &segment, &marks)
            case .frame(let header, let plaintext, let place):
                try take(header, plaintext, at: place, into: &segment, &marks)
            }
        }
    }

    /// Notes damage if the segment before this one lacks assigned numbers up to `last`. That
    /// segment was cut, or its last frames are damaged.
    private func noteCutEnd(before id: SegmentID, _ last: Int64) {
        guard let end = openEnd.take(), end.id.number + 1 == id.number else { return }
        let known = max(end.known, lastSequence)
        guard last > known else { return }
        damage.append(Damage(segment: end.id, lost: SequenceSet(known + 1...last)))
    }

    private func read(
        opening plaintext: [UInt8], _ id: SegmentID, _ marks: inout QueueMarks
    ) throws(StoreError) -> SegmentOpening {
        guard let said = SegmentOpening(plaintext) else {
            throw .newerForm(file: folder.segment(id))
        }
        marks.merge(said.marks)
        window = said.packets
        keys = said.keys
        return said
    }

    private func take(
        _ header: FrameHeader, _ plaintext: [UInt8], at place: Int, into segment: inout Segment,
        _ marks: inout QueueMarks
    ) throws(StoreError) {
        segment.note(header, endingAt: place + header.byteCount)
        guard var batch = BatchReader(plaintext, header) else {
            throw .newerForm(file: folder.segment(segment.id))
        }
        while let item = batch.next() { segment.note(item, of: batch) }
        guard var tail = batch.tail(), let said = QueueMarks(&tail),
            let packets = WindowCoding.decode(&tail), let given = KeyCoding.decode(&tail)
        else { throw .newerForm(file: folder.segment(segment.id)) }
        marks.merge(said)
        window = (window + packets).suffix(Self.windowLimit)
        keys.append(contentsOf: given)
        keys.keepNewest()
    }

    /// The highest sequence number in any file, for a lost vault.
    static func highestSequence(
        in stateFolder: String, _ key: SecretBytes, generation: Int64
    ) throws(StoreError) -> Int64 {
        let folder = OutboxFolder(in: stateFolder)
        var highest = HeadFile.peek(folder.head, key, generation: generation)?.last ?? 0
        for id in try folder.contents(of: generation).segments.suffix(2) {
            let reader = try SegmentReader(folder.segment(id), id, key)
            let opening = try reader.open(.opening, at: 0)
            if let said = opening.flatMap({ SegmentOpening($0.plaintext) }) {
                highest = max(highest, said.marks.last, said.end)
            }
            var cursor = FrameCursor(
                reader, from: opening?.header.byteCount ?? 0, to: nil)
            var step = try cursor.next()
            while step.isMore {
                if case .frame(let header, _, _) = step { highest = max(highest, header.last) }
                step = try cursor.next()
            }
        }
        return highest
    }
}

extension FrameCursor.Step {
    fileprivate var isMore: Bool {
        if case .end = self { false } else { true }
    }
}
