import Gate
import LinuxIO
import Sessions

// What does not open any more.
extension Queue {
    /// So many segments that were set aside are kept, the newest.
    private static var asideLimit: Int { 4 }

    /// Books what was lost, once, and keeps a copy of each segment that is concerned. What cannot
    /// be written down now is met again.
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
        // A torn frame is no damage: nobody was told that its writes are safe.
        if one.cause == .unknown { return try giveUp(one.lost, .unknown) }
        try book(one.lost, of: one.segment)
        if let id = one.segment { try rewrite(id) }
    }

    /// Books what does not open of a segment, and keeps a copy of it.
    func book(_ lost: SequenceSet, of id: SegmentID?) throws(StoreError) {
        guard let first = lost.first, let last = lost.last else { return }
        if let id { try setAside(id) }
        try giveUp(lost, .damaged) { $0.ledger.damaged += 1 }
        note(first == last ? "queue \(first)" : "queue \(first) to \(last)")
    }

    /// Gives the file a second name, under which it stays when it is written again.
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
