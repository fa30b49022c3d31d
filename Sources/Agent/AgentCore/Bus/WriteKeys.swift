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
    /// How many keys are kept, of all apps together.
    package static let limit = 4096

    /// The first 16 bytes of SHA-256 over app and key.
    package let digest: UInt128
    package let sequence: Int64

    package init(digest: UInt128, sequence: Int64) {
        self.digest = digest
        self.sequence = sequence
    }
}

/// The keys of the last accepted writes: 4,096, for ten minutes each. Uses no memory while no app
/// gives keys, and 160 KB at most.
///
/// After a start the keys from the disk count as new: the board's clock may be wrong then, and a
/// key that is forgotten too soon would store a write twice.
///
/// A ring of entries. Entries whose digests have the same low bits are linked, newest first. A
/// link that leads to an overwritten entry is the end.
struct WriteKeys: Sendable {
    static let span = Duration.seconds(600)

    private struct Entry {
        let digest: UInt128
        let sequence: Int64
        /// Seconds of the monotonic clock.
        let since: Int32
        /// How many entries before this one the next older with the same low bits is. 0: none.
        let step: UInt16
    }

    private static let limit = KeptKey.limit
    private var entries: [Entry] = []
    /// For each value of the low bits, the number of the newest entry. -1: none.
    private var newest: [Int] = []
    /// How many entries were ever made.
    private var count = 0

    /// The `seq` of the write with this key; nil if none is known.
    func sequence(of digest: UInt128, at now: Duration) -> Int64? {
        guard !newest.isEmpty else { return nil }
        var number = newest[Self.place(of: digest)]
        while number >= 0, number >= count - Self.limit {
            let entry = entries[number % Self.limit]
            if entry.digest == digest {
                let age = Self.seconds(now) - Int64(entry.since)
                return age <= Self.span.components.seconds ? entry.sequence : nil
            }
            guard entry.step > 0 else { return nil }
            number -= Int(entry.step)
        }
        return nil
    }

    mutating func remember(_ key: KeptKey, at now: Duration) {
        if newest.isEmpty { newest = Array(repeating: -1, count: Self.limit) }
        let place = Self.place(of: key.digest)
        let step = newest[place] < 0 ? 0 : count - newest[place]
        let entry = Entry(
            digest: key.digest, sequence: key.sequence,
            since: Int32(clamping: Self.seconds(now)),
            step: step > Self.limit ? 0 : UInt16(clamping: step))
        if entries.count < Self.limit {
            entries.append(entry)
        } else {
            entries[count % Self.limit] = entry
        }
        newest[place] = count
        count += 1
    }

    private static func place(of digest: UInt128) -> Int {
        Int(truncatingIfNeeded: digest) & (limit - 1)
    }

    private static func seconds(_ time: Duration) -> Int64 { time.components.seconds }
}
