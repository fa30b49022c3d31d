import BoardStore
import LinuxIO
import Logging

/// The sequences that may be given without a word on disk, and what keeps them from being given
/// twice: a bound on disk, which is moved a million at a time, and a file in memory that tells
/// after a crash which were given.
struct SequenceReserve: ~Copyable {
    /// One small transaction for so many writes.
    static let stride: Int64 = 1_000_000
    static let reserved = "sequence.reserved"
    static let given = "sequence.given"

    private let path: String
    private var window: VolatileWindow?
    private var bound: Int64 = 0
    private var last: Int64 = 0

    /// The last that was given when this life began; nil once that stands on disk.
    private var inherited: Int64?

    init(_ path: String, given: Int64) {
        self.path = path
        inherited = given
    }

    /// What is to be on disk once nothing comes again that an earlier life gave a sequence: from
    /// then on the file in memory is this life's.
    func inheriting(_ counters: [String: Int64]) -> [StoreChange] {
        guard let inherited, counters[Self.reserved, default: 0] > 0 else { return [] }
        return [.counter(Self.given, inherited), .counter(Self.reserved, 0)]
    }

    mutating func inheritedAll() { inherited = nil }

    /// What is to be on disk before a write of this sequence is held; empty mostly.
    func changes(before sequence: Int64) -> [StoreChange] {
        guard sequence > bound else { return [] }
        return [.counter(Self.reserved, sequence + Self.stride)]
    }

    /// `changes(before:)` are on disk.
    mutating func moved(before sequence: Int64) {
        if sequence > bound { bound = sequence + Self.stride }
    }

    /// Remembers which packets of the bus have which sequence. Must come before they are sent.
    mutating func note(_ entries: [WindowEntry]) throws(FileFailure) {
        if window == nil { window = try VolatileWindow(path) }
        try window?.write(entries)
        last = max(last, entries.map(\.sequence).max() ?? 0)
    }

    /// What is to be on disk at a clean end; empty when nothing was reserved.
    var closing: [StoreChange] {
        guard bound > 0 else { return [] }
        return [.counter(Self.given, last), .counter(Self.reserved, 0)]
    }

    /// `closing` is on disk. Nothing happens where nothing was reserved: the file may be an
    /// earlier life's then, and what it tells may come on the bus again.
    mutating func closed() {
        guard bound > 0 else { return }
        bound = 0
        window = nil
        // What is left there is known to be old: its sequences are not above the given ones.
        try? PrivateFile.remove(path)
    }
}
