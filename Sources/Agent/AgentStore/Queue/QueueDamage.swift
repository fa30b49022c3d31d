import Gate
import LinuxIO
import Sessions

// Damaged segments.
extension Queue {
    /// How many segments that were set aside are kept. The newest stay.
    private static var asideLimit: Int { 4 }

    /// Books each loss once, and keeps a copy of each damaged segment. Losses that cannot be
    /// recorded now are found again later.
    func bookDamage() throws(StoreError) {
        while !damage.isEmpty {
            let one = damage.removeFirst()
            do throws(StoreError) {
                try book(one)
            } catch {
                damage.insert(one, at: 0)
                guard error.mayPass else { throw error }
                return
            }
        }
    }

    private func book(_ one: Damage) throws(StoreError) {
        // A torn frame is no damage: its writes were never acknowledged.
        if one.cause == .unknown { return try giveUp(one.lost, .unknown) }
        try book(one.lost, of: one.segment)
        if let id = one.segment { try rewrite(id) }
    }

    /// Books the unreadable writes of a segment, and keeps a copy of the segment.
    func book(_ lost: SequenceSet, of id: SegmentID?) throws(StoreError) {
        guard let first = lost.first, let last = lost.last else { return }
        if let id { try setAside(id) }
        try giveUp(lost, .damaged) { $0.ledger.damaged += 1 }
        note(first == last ? "queue \(first)" : "queue \(first) to \(last)")
    }

    /// Gives the file a second name, so that it stays when the segment is rewritten.
    private func setAside(_ id: SegmentID) throws(StoreError) {
        let path = folder.damaged(id)
        guard segments.contains(where: { $0.id == id }), !PrivateFile.isThere(path) else { return }
        try folder.onFile { () throws(FileFailure) in
            try PrivateFile.link(folder.segment(id), as: path)
        }
        for old in try folder.contents(of: generation).damaged.dropLast(Self.asideLimit) {
            try folder.onFile { () throws(FileFailure) in
                try PrivateFile.unlink(folder.damaged(old))
            }
        }
    }
}
