/// The user property `key` of a message, by which an app names a write.
package enum StatedKey: Equatable, Sendable {
    case none
    /// 1 to 64 bytes.
    case key(String)
    /// Empty, too long, or given twice.
    case malformed

    /// `values` are the values of all user properties `key` of a message.
    package init(_ values: [String]) {
        guard let first = values.first else {
            self = .none
            return
        }
        self = values.count == 1 && 1...64 ~= first.utf8.count ? .key(first) : .malformed
    }
}

/// The key of an accepted write. If its app repeats the key, it gets the same `seq`.
package struct KeptKey: Equatable, Sendable {
    /// How many keys are kept, of all apps together. If there are more, each app keeps its newest,
    /// and the oldest of the apps with the most keys go.
    package static let limit = 4096
    /// So many more are there for a while, because they are removed many at a time.
    package static let slack = limit / 8

    /// 4 bytes of the app's digest, then 12 bytes of the digest over app and key.
    package let digest: UInt128
    package let sequence: Int64

    package init(digest: UInt128, sequence: Int64) {
        self.digest = digest
        self.sequence = sequence
    }

    /// Joins the digest of an app with the digest over the app and its key.
    static func digest(ofApp app: UInt128, ofKey key: UInt128) -> UInt128 {
        (app >> 96) << 96 | (key << 32) >> 32
    }

    fileprivate var app: UInt32 { UInt32(truncatingIfNeeded: digest >> 96) }
}

extension Array {
    /// Removes elements beyond the keys' limit once there are `slack` more. The oldest element is
    /// the first. Returns whether it removed any.
    @discardableResult
    package mutating func trimKeys(slack: Int, by key: (Element) -> KeptKey) -> Bool {
        guard count > KeptKey.limit, count >= KeptKey.limit + slack else { return false }
        // An element's rank is its place among its app's, from the newest on.
        var rankOfApp: [UInt32: Int] = [:]
        var countOfRank = [Int](repeating: 0, count: count + 1)
        let ranks = reversed().map { element in
            let rank = rankOfApp[key(element).app, default: 0] + 1
            rankOfApp[key(element).app] = rank
            countOfRank[rank] += 1
            return rank
        }
        var (lastRank, room) = (1, KeptKey.limit)
        while room >= countOfRank[lastRank] {
            room -= countOfRank[lastRank]
            lastRank += 1
        }
        var kept: [Element] = []
        kept.reserveCapacity(KeptKey.limit + KeptKey.slack)
        for (element, rank) in zip(reversed(), ranks) where rank <= lastRank {
            if rank == lastRank {
                guard room > 0 else { continue }
                room -= 1
            }
            kept.append(element)
        }
        kept.reverse()
        self = kept
        return true
    }
}

/// The keys of the last accepted writes, for ten minutes each: see `KeptKey.limit`. Uses no memory
/// while no app gives keys, and 160 KB at most.
///
/// After a start the keys from the disk count as new: the board's clock may be wrong then, and a
/// key that is forgotten too soon would store a write twice.
struct WriteKeys: Sendable {
    static let span = Duration.seconds(600)

    private struct Entry {
        let key: KeptKey
        /// Seconds of the monotonic clock.
        let since: Int32
        /// The place of the next older entry whose digest has the same low bits. -1: none.
        var older: Int16
    }

    /// Oldest first.
    private var entries: [Entry] = []
    /// For each value of the low bits, the place of the newest entry. -1: none.
    private var newest: [Int16] = []

    /// The `seq` of the write with this key; nil if none is known.
    func sequence(of digest: UInt128, at now: Duration) -> Int64? {
        guard !newest.isEmpty else { return nil }
        var place = newest[Self.lowBits(of: digest)]
        while place >= 0 {
            let entry = entries[Int(place)]
            if entry.key.digest == digest {
                let age = Self.seconds(now) - Int64(entry.since)
                return age <= Self.span.components.seconds ? entry.key.sequence : nil
            }
            place = entry.older
        }
        return nil
    }

    mutating func remember(_ key: KeptKey, at now: Duration) {
        if newest.isEmpty { newest = Array(repeating: -1, count: KeptKey.limit) }
        entries.append(
            Entry(key: key, since: Int32(clamping: Self.seconds(now)), older: -1))
        if entries.trimKeys(slack: KeptKey.slack, by: \.key) {
            newest = Array(repeating: -1, count: KeptKey.limit)
            for place in entries.indices { link(place) }
        } else {
            link(entries.count - 1)
        }
    }

    /// Makes the entry the newest of those with the same low bits.
    private mutating func link(_ place: Int) {
        let bits = Self.lowBits(of: entries[place].key.digest)
        entries[place].older = newest[bits]
        newest[bits] = Int16(place)
    }

    private static func lowBits(of digest: UInt128) -> Int {
        Int(truncatingIfNeeded: digest) & (KeptKey.limit - 1)
    }

    private static func seconds(_ time: Duration) -> Int64 { time.components.seconds }
}
