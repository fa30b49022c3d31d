import AgentCore
import AgentStore
import LinuxIO
import Logging

/// Sequences that may be assigned before they are on disk, and the protection against assigning
/// one twice. A bound on disk moves a million at a time. A file in memory shows after a crash
/// which sequences were assigned.
struct SequenceReserve: ~Copyable {
    /// One small transaction on disk covers this many writes.
    static let stride: Int64 = 1_000_000

    private let path: String
    private var window: VolatileWindow?
    /// The packets in the file in memory.
    private var packets: [DeliveredPacket] = []
    private var bound: Int64 = 0
    private var last: Int64 = 0

    /// The last sequence assigned before this start; nil once it is on disk.
    private(set) var inherited: Int64?

    init(_ path: String, given: Int64) {
        self.path = path
        inherited = given
    }

    /// `inherited` is on disk, and the bus delivers no older packet again. From now on this run
    /// may overwrite the file in memory.
    mutating func inheritedAll() { inherited = nil }

    /// The bound that must be on disk before a write of this sequence is held; nil if the present
    /// bound is high enough.
    func bound(before sequence: Int64) -> Int64? {
        sequence > bound ? sequence + Self.stride : nil
    }

    /// Notes that `bound(before:)` is on disk.
    mutating func moved(before sequence: Int64) {
        if sequence > bound { bound = sequence + Self.stride }
    }

    /// Records which bus packets have which sequence, beside the store's unsaved keys. Call it
    /// before the writes are sent.
    mutating func note(
        _ entries: [DeliveredPacket], in store: BoardStore
    ) throws(FileFailure) {
        if window == nil { window = try VolatileWindow(path) }
        packets = entries
        try window?.write(packets, store.unsavedKeys)
        last = max(last, entries.map(\.sequence).max() ?? 0)
    }

    /// Keeps the keys of writes that went upstream without the disk. Call it before their apps are
    /// answered.
    mutating func keep(_ new: [KeptKey], in store: BoardStore) {
        guard !new.isEmpty else { return }
        store.keep(new)
        do throws(FileFailure) {
            try window?.write(packets, store.unsavedKeys)
        } catch {
            // The next batch cannot be noted either, so it goes to disk, and these keys with it.
        }
    }

    /// Removes all keys from the file in memory, also those of an earlier run. Call it before the
    /// store destroys its own: a crash may cost the former user's keys, and never brings them to
    /// the next user.
    mutating func forgetKeys() {
        do throws(FileFailure) {
            if window == nil, PrivateFile.isThere(path) {
                window = try VolatileWindow(path)
                packets = window?.found ?? []
            }
            // One slot has the last content, the other the one before.
            for _ in 0..<2 { try window?.write(packets, []) }
        } catch {
            window = nil
            try? PrivateFile.remove(path)
        }
    }

    /// The last assigned sequence, which a clean end writes to disk; nil if nothing was reserved.
    var given: Int64? { bound > 0 ? last : nil }

    /// Writes `given` and all keys to disk, and removes the file in memory. If this throws, the
    /// file remains. It also remains if nothing was reserved: it may belong to an earlier run, and
    /// the bus may deliver its packets again.
    mutating func close(_ store: BoardStore) throws(StoreError) {
        if let given { try store.reserve(upTo: 0, given: given) }
        try store.saveKeys()
        guard bound > 0 else { return }
        bound = 0
        window = nil
        // A file that remains is harmless: its sequences are not above the last assigned one.
        try? PrivateFile.remove(path)
    }
}

extension BoardStore {
    /// Returns the highest assigned sequence, and the packets that have one and are not on disk.
    ///
    /// After a crash, `found` shows which reserved sequences were assigned. Without it all
    /// reserved sequences count as assigned and are announced as a gap. With it nothing changes on
    /// disk, so a second crash before the bus is read finds the same.
    func settleSequences(
        _ found: [DeliveredPacket]
    ) throws(StoreError) -> (last: Int64, undurable: [DeliveredPacket]) {
        let (reserved, given) = reserve
        let known = max(lastSequence, given)
        guard reserved > known else { return (known, []) }
        let undurable = found.filter { $0.sequence > known && $0.sequence <= reserved }
        // `found` is complete if its last sequence is not below the highest one on disk, or was
        // written since the bound last moved.
        let begun = min(known, reserved - SequenceReserve.stride)
        let isTold = (found.last?.sequence).map { $0 >= begun } ?? false
        let last = isTold ? max(known, undurable.last?.sequence ?? 0) : reserved
        if !isTold { try reserve(upTo: 0, given: last, lost: known + 1...reserved) }
        return (last, undurable)
    }
}
