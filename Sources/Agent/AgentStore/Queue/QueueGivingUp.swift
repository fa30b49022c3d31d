import AgentCore
import Gate
import LinuxIO
import Sessions

// Writes that are given up: for their age, for room, as dead letters, or with all the others.
extension Queue {
    /// Books writes that will never be sent, durably, and takes them out. The vault is written
    /// first: see `QueueControl`.
    func giveUp(
        _ gone: SequenceSet, _ cause: QueueLosses.Cause, drops: [ClassName: Int64] = [:],
        _ more: (inout QueueControl) -> Void = { _ in }
    ) throws(StoreError) {
        guard let first = gone.first, let last = gone.last else { return }
        if isFolderDirty {
            // What `givenUp` forgets must not come back with a file's old name.
            try folder.sync()
            isFolderDirty = false
        }
        try vault.change { content in
            for range in gone.ranges { content.queue.ledger.losses.lose(range, cause) }
            for (name, count) in drops {
                content.queue.ledger.losses.drop(count, of: name.description)
            }
            content.queue.givenUp.formUnion(gone)
            more(&content.queue)
            stamp(&content.queue)
        }
        live.subtract(gone)
        try left(first...last)
        try freeSegments()
        try saveHead()
    }

    /// What each change of the vault says of the queue as it is now.
    func stamp(_ control: inout QueueControl) {
        control.last = max(control.last, lastSequence)
        control.segment = max(control.segment, segments.last?.id.number ?? 0)
        // What no segment has any more cannot come back, unless a file's old name does.
        guard !isFolderDirty else { return }
        var left = SequenceSet()
        for segment in segments {
            for range in segment.stored.ranges {
                left.formUnion(control.givenUp.part(in: range))
            }
        }
        // Behind the last that is stored no segment tells yet which numbers were given.
        let stored = segments.reduce(0) { max($0, $1.stored.last ?? 0) }
        if stored < .max { left.formUnion(control.givenUp.part(in: stored + 1...(.max))) }
        control.givenUp = left
    }

    /// Drops what was accepted from `start` to before `end`, but for the spared: the broker may
    /// have them already. What was accepted before `start` was dated by a clock that was not set.
    func expire(
        _ start: Timestamp, _ end: Timestamp, sparing spared: Set<Int64>
    ) throws(StoreError) {
        let span = start.milliseconds..<max(start.milliseconds, end.milliseconds)
        for id in segments.filter({ $0.oldest < span.upperBound }).map(\.id) {
            guard let index = segments.firstIndex(where: { $0.id == id }) else { continue }
            var (gone, drops, oldest) = (SequenceSet(), [ClassName: Int64](), Int64.max)
            try forEachFrame(of: segments[index]) { batch throws(StoreError) in
                guard batch.header.oldest < span.upperBound else {
                    return oldest = min(oldest, batch.header.oldest)
                }
                while let item = batch.next() {
                    guard live.contains(item.sequence), item.at >= span.lowerBound else { continue }
                    if span.contains(item.at), !spared.contains(item.sequence) {
                        gone.insert(item.sequence)
                        drops[item.target.className, default: 0] += 1
                    } else {
                        oldest = min(oldest, item.at)
                    }
                }
            }
            segments[index].oldest = oldest
            try giveUp(gone, .expired, drops: drops)
        }
    }

    /// Drops writes until at least so many bytes are free, or none is left: first those of
    /// classes that are not in `keep`, the oldest first, then of the last class in it, and so on.
    func makeRoom(_ bytes: Int64, keep: [ClassName]) throws(StoreError) {
        let goal = max(0, usedBytes - max(0, bytes))
        for rank in 0...keep.count where usedBytes > goal {
            let wanted: (ClassName) -> Bool = rank == 0
                ? { !keep.contains($0) } : { $0 == keep[keep.count - rank] }
            for id in segments.map(\.id) where usedBytes > goal {
                try drop(from: id, wanted, downTo: goal, isInOrder: keep.isEmpty)
            }
        }
    }

    var usedBytes: Int64 { segments.reduce(0) { $0 + $1.liveBytes } }

    /// Drops wanted writes of one segment, oldest first, until few enough bytes are left.
    private func drop(
        from id: SegmentID, _ wanted: (ClassName) -> Bool, downTo goal: Int64, isInOrder: Bool
    ) throws(StoreError) {
        while usedBytes > goal, let index = segments.firstIndex(where: { $0.id == id }),
            segments[index].isLive, segments[index].mayHold(wanted)
        {
            var (gone, drops, freed) = (SequenceSet(), [ClassName: Int64](), Int64(0))
            let excess = usedBytes - goal
            try forEachFrame(of: segments[index]) { batch throws(StoreError) in
                // In order, whole frames go: then nothing has to be written again.
                guard freed < excess else { return }
                while let item = batch.next(), isInOrder || freed < excess {
                    guard live.contains(item.sequence), wanted(item.target.className) else {
                        continue
                    }
                    gone.insert(item.sequence)
                    drops[item.target.className, default: 0] += 1
                    if !isInOrder { freed += Int64(item.payload.count) + 8 }
                }
                if isInOrder { freed += Int64(batch.header.byteCount) }
            }
            guard !gone.isEmpty else { return }
            try giveUp(gone, .full, drops: drops)
            if !isInOrder { try rewrite(id) }
        }
    }

    /// Moves writes among the dead letters. Unknown ones are skipped.
    func bury(_ burials: [Burial]) throws(StoreError) {
        try begin()
        let reasons = Dictionary(burials.map { ($0.sequence, $0.reason) }) { $1 }
        let now = Timestamp(milliseconds: SystemClock.wallMilliseconds)
        var (gone, found) = (SequenceSet(), [DeadLetter]())
        for sequence in reasons.keys.sorted() where live.contains(sequence) {
            guard let write = try next(after: sequence - 1, limit: 1, bytes: 1).first,
                write.sequence == sequence
            else { continue }
            found.append(DeadLetter(
                write: write, reason: reasons[sequence] ?? "", buriedAt: now))
            gone.insert(sequence)
        }
        guard !found.isEmpty else { return }
        // Before the vault: see `QueueControl`.
        took(try letters.add(found, key, generation: generation))
        try giveUp(gone, .dead)
    }

    /// Letters that were written before a crash, and not booked.
    func finishBurials() throws(StoreError) {
        var gone = SequenceSet()
        for sequence in letters.sequences where live.contains(sequence) { gone.insert(sequence) }
        guard !gone.isEmpty else { return }
        // Their sync may have failed: see `SegmentWriter`.
        took(try letters.writeAgain(key, generation: generation))
        try giveUp(gone, .dead)
    }

    /// Books numbers that will never arrive, and that the queue does not hold.
    func lose(_ sequences: [Int64]) throws(StoreError) {
        try vault.change { content in
            for sequence in sequences {
                content.queue.ledger.losses.lose(sequence...sequence, .unknown)
            }
            stamp(&content.queue)
        }
    }

    /// Removes all writes, the dead letters and what was set aside, and replaces the key of them.
    /// Numbers, losses and the packets that may come again stay. `more` is changed with it.
    func destroy(_ more: (inout VaultContent) -> Void) throws(StoreError) {
        try begin()
        let gone = live
        var control = try QueueControl.fresh(generation: generation + 1)
        let old = vault.content.queue
        (control.last, control.windowFloor) = (lastSequence, old.windowFloor)
        (control.reserved, control.given, control.ledger) = (old.reserved, old.given, old.ledger)
        for range in gone.ranges { control.ledger.losses.lose(range, .destroyed) }
        control.segment = nextNumber
        // The packets first, under the new key: until the vault has it this file is nothing.
        let survivor = try makeSurvivor(control)
        try vault.change(isErasing: true) { content in
            more(&content)
            content.queue = control
        }
        (live, reading, frontTime) = (SequenceSet(), nil, nil)
        head = nil
        segments = [survivor.segment]
        writer = survivor
        nextNumber += 1
        letters = DeadLetterFile(folder.dead(generation))
        damage.removeAll()
        try folder.onFile { () throws(FileFailure) in try PrivateFile.unlink(folder.spare) }
        isBegun = false
        try begin()
    }

    private func makeSurvivor(_ control: QueueControl) throws(StoreError) -> SegmentWriter {
        let id = SegmentID(generation: control.generation, number: nextNumber)
        let opening = SegmentOpening(
            marks: QueueMarks(watermark: lastSequence, last: lastSequence),
            packets: window.suffix(Self.windowLimit)).bytes
        let file = try makeFile(folder.segment(id), for: opening.count)
        let writer = try SegmentWriter(file, id, control.key, opening: opening)
        try writer.flush()
        return writer
    }
}
