import AgentCore
import Gate
import LinuxIO
import Sessions

// Gives up writes: too old, no space, dead letters, or the whole queue.
extension Queue {
    /// Books writes as losses, durably, and removes them from the queue. The vault is written
    /// first: see `QueueControl`.
    func giveUp(
        _ gone: SequenceSet, _ cause: QueueLosses.Cause, drops: [ClassName: Int64] = [:],
        _ more: (inout QueueControl) -> Void = { _ in }
    ) throws(StoreError) {
        guard let first = gone.first, let last = gone.last else { return }
        if isFolderDirty {
            // A removed file must not return under its old name after `givenUp` has dropped its
            // numbers.
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

    /// Writes the queue's current state into the vault's content. Runs with each change of the
    /// vault.
    func stamp(_ control: inout QueueControl) {
        control.last = max(control.last, lastSequence)
        control.segment = max(control.segment, segments.last?.id.number ?? 0)
        // Drop numbers that no segment contains: they cannot come back, unless a removed file
        // does.
        guard !isFolderDirty else { return }
        var left = SequenceSet()
        for segment in segments {
            for range in segment.stored.ranges {
                left.formUnion(control.givenUp.part(in: range))
            }
        }
        // No segment shows yet which numbers above the last stored one were assigned, so keep
        // those.
        let stored = segments.reduce(0) { max($0, $1.stored.last ?? 0) }
        if stored < .max { left.formUnion(control.givenUp.part(in: stored + 1...(.max))) }
        control.givenUp = left
    }

    /// Drops writes accepted from `start` until before `end`. Keeps those in `spared`, because
    /// the broker may already have them. Writes accepted before `start` have times from an unset
    /// clock and stay.
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

    /// Drops writes until at least this many bytes are free, or no write is left. Drops first the
    /// classes that are not in `keep`, oldest writes first. Then it drops the last class in
    /// `keep`, and so on.
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

    /// Drops wanted writes of one segment, oldest first, until at most `goal` bytes are used.
    private func drop(
        from id: SegmentID, _ wanted: (ClassName) -> Bool, downTo goal: Int64, isInOrder: Bool
    ) throws(StoreError) {
        while usedBytes > goal, let index = segments.firstIndex(where: { $0.id == id }),
            segments[index].isLive, segments[index].mayHold(wanted)
        {
            var (gone, drops, freed) = (SequenceSet(), [ClassName: Int64](), Int64(0))
            let excess = usedBytes - goal
            try forEachFrame(of: segments[index]) { batch throws(StoreError) in
                // In order, whole frames are dropped, so no segment needs a rewrite.
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

    /// Moves writes to the dead letters. Skips unknown sequence numbers.
    func bury(_ burials: [DeadLetterRequest]) throws(StoreError) {
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
        // The letters are written before the vault: see `QueueControl`.
        took(try letters.add(found, key, generation: generation))
        try giveUp(gone, .dead)
    }

    /// Finishes burials that a crash interrupted: the letters are written but not booked.
    func finishBurials() throws(StoreError) {
        var gone = SequenceSet()
        for sequence in letters.sequences where live.contains(sequence) { gone.insert(sequence) }
        guard !gone.isEmpty else { return }
        // The sync of these letters may have failed: see `SegmentWriter`.
        took(try letters.writeAgain(key, generation: generation))
        try giveUp(gone, .dead)
    }

    /// Books sequence numbers that will never arrive and are not in the queue.
    func lose(_ sequences: [Int64]) throws(StoreError) {
        try vault.change { content in
            for sequence in sequences {
                content.queue.ledger.losses.lose(sequence...sequence, .unknown)
            }
            stamp(&content.queue)
        }
    }

    /// Removes all writes, the dead letters and the segments that were set aside, and replaces
    /// the queue's key. Keeps sequence numbers, losses and the packets that may be delivered
    /// again. `more` changes the vault in the same step.
    func destroy(_ more: (inout VaultContent) -> Void) throws(StoreError) {
        try begin()
        let gone = live
        var control = try QueueControl.fresh(generation: generation + 1)
        let old = vault.content.queue
        (control.last, control.windowFloor) = (lastSequence, old.windowFloor)
        (control.reserved, control.given, control.ledger) = (old.reserved, old.given, old.ledger)
        for range in gone.ranges { control.ledger.losses.lose(range, .destroyed) }
        control.segment = nextNumber
        // Write the packets first, under the new key. The file has no meaning until the vault has
        // that key.
        let survivor = try makeSurvivor(control)
        try vault.change(isErasing: true) { content in
            more(&content)
            content.queue = control
        }
        (live, reading, frontTime) = (SequenceSet(), nil, nil)
        // The next user's write must not get the answer of one that is destroyed.
        (keys, unsavedKeys) = ([], [])
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
