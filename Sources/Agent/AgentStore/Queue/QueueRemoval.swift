import Gate
import LinuxIO
import Sessions

// Removes delivered writes and empty segments.
extension Queue {
    /// Removes writes that the upstream broker has received. Skips unknown numbers. Not synced: a
    /// power cut may bring the writes back, with the same sequence numbers.
    func remove(_ sequences: [Int64]) throws(StoreError) {
        guard let first = sequences.min(), let last = sequences.max() else { return }
        for run in Self.runs(sequences) { live.remove(run) }
        try left(first...last)
        try freeSegments()
        try saveHead()
    }

    static func runs(_ sequences: [Int64]) -> [ClosedRange<Int64>] {
        var runs: [ClosedRange<Int64>] = []
        let isSorted = zip(sequences, sequences.dropFirst()).allSatisfy { $0 <= $1 }
        for sequence in isSorted ? sequences : sequences.sorted() {
            if let open = runs.last,
                sequence <= open.upperBound || sequence - 1 == open.upperBound
            {
                runs[runs.count - 1] = open.lowerBound...max(sequence, open.upperBound)
            } else {
                runs.append(sequence...sequence)
            }
        }
        return runs
    }

    /// Updates the segments after writes in this range have left.
    func left(_ range: ClosedRange<Int64>) throws(StoreError) {
        frontTime = nil
        for index in segments.indices where segments[index].isLive {
            guard segments[index].last >= range.lowerBound else { continue }
            if let first = segments[index].stored.first, first > range.upperBound { break }
            try advance(index)
        }
    }

    /// Moves a segment's start to its first frame with a live write. If the headers show no such
    /// frame, one of them is damaged. The next read finds that damage.
    func advance(_ index: Int) throws(StoreError) {
        let segment = segments[index]
        guard segment.isLive else { return }
        guard let first = segment.stored.first, live.overlaps(first...segment.last) else {
            return segments[index].start = segment.end
        }
        let reader = try reader(segment)
        let start = try reader.skip(from: segment.start, to: segment.end) {
            !live.overlaps($0.first...$0.last)
        }.offset
        if start < segment.end { segments[index].start = start }
    }

    /// Removes segments without live writes. The last segment stays, because it shows the
    /// assigned sequence numbers. One removed file becomes the spare file.
    func freeSegments() throws(StoreError) {
        guard isBegun, segments.contains(where: { !$0.isLive }) else { return }
        let kept = segments.last?.id
        for segment in segments where !segment.isLive && segment.id != kept {
            let path = folder.segment(segment.id)
            // A segment that was set aside is the same file under another name.
            let isSpare = segment.size == segmentBytes && !PrivateFile.isThere(folder.spare)
                && !PrivateFile.isThere(folder.damaged(segment.id))
            try folder.onFile { () throws(FileFailure) in
                isSpare ? try PrivateFile.rename(path, to: folder.spare)
                    : try PrivateFile.unlink(path)
            }
            isFolderDirty = true
            if reading?.reader.id == segment.id { reading = nil }
        }
        segments.removeAll { !$0.isLive && $0.id != kept }
    }
}
