import AgentCore
import AgentStore
import LinuxIO
import Logging

/// The sequences that may be given without a word on disk, and what keeps them from being given
/// twice: a bound on disk, which is moved a million at a time, and a file in memory that tells
/// after a crash which were given.
struct SequenceReserve: ~Copyable {
    /// One small transaction for so many writes.
    static let stride: Int64 = 1_000_000

    private let path: String
    private var window: VolatileWindow?
    private var bound: Int64 = 0
    private var last: Int64 = 0

    /// The last that was given when this life began; nil once that stands on disk.
    private(set) var inherited: Int64?

    init(_ path: String, given: Int64) {
        self.path = path
        inherited = given
    }

    /// `inherited` is on disk, and nothing comes again that an earlier life gave a sequence: from
    /// now on the file in memory is this life's.
    mutating func inheritedAll() { inherited = nil }

    /// The bound that is to be on disk before a write of this sequence is held; nil mostly.
    func bound(before sequence: Int64) -> Int64? {
        sequence > bound ? sequence + Self.stride : nil
    }

    /// `bound(before:)` is on disk.
    mutating func moved(before sequence: Int64) {
        if sequence > bound { bound = sequence + Self.stride }
    }

    /// Remembers which packets of the bus have which sequence. Must come before they are sent.
    mutating func note(_ entries: [DeliveredPacket]) throws(FileFailure) {
        if window == nil { window = try VolatileWindow(path) }
        try window?.write(entries)
        last = max(last, entries.map(\.sequence).max() ?? 0)
    }

    /// The last one given, to be on disk at a clean end; nil when nothing was reserved.
    var given: Int64? { bound > 0 ? last : nil }

    /// `given` is on disk. Nothing happens where nothing was reserved: the file may be an
    /// earlier life's then, and what it tells may come on the bus again.
    mutating func closed() {
        guard bound > 0 else { return }
        bound = 0
        window = nil
        // What is left there is known to be old: its sequences are not above the given ones.
        try? PrivateFile.remove(path)
    }
}

extension BoardStore {
    /// The highest sequence that was given, and the packets that have one and are not on disk.
    ///
    /// After a crash of an agent that gave some without a word on disk, `found` tells which;
    /// without it all that were reserved count as given, and are announced as a gap. Where it
    /// tells, nothing is changed: a second crash before the bus is read finds the same.
    func settleSequences(
        _ found: [DeliveredPacket]
    ) throws(StoreError) -> (last: Int64, undurable: [DeliveredPacket]) {
        let (reserved, given) = reserve
        let known = max(lastSequence, given)
        guard reserved > known else { return (known, []) }
        let undurable = found.filter { $0.sequence > known && $0.sequence <= reserved }
        // Written since the bound was moved, or all that was given is on disk: nothing is left out.
        let begun = min(known, reserved - SequenceReserve.stride)
        let isTold = (found.last?.sequence).map { $0 >= begun } ?? false
        let last = isTold ? max(known, undurable.last?.sequence ?? 0) : reserved
        if !isTold { try reserve(upTo: 0, given: last, lost: known + 1...reserved) }
        return (last, undurable)
    }
}
