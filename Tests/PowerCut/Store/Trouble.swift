import AgentCore
import AgentStore
import Foundation
import Gate
import Sessions

/// A board's life in which the disk is full, or a sync fails, at each call of each kind of change.
///
/// After each fault room is there again. Then the change is made once more, and the queue must
/// flow.
struct Trouble {
    private let folder: String
    private let kind: Faults.Kind
    private let faults: Faults
    private var random: Lot
    private var store: BoardStore?
    private var packetID: UInt16 = 0
    /// What the broker has.
    private var arrived = SequenceSet()
    private var failures = 0

    init(folder: String, seed: UInt64, _ kind: Faults.Kind) throws {
        self.folder = folder
        self.kind = kind
        faults = try Faults()
        random = Lot(state: seed)
        try Facts().say()
        try reopen()
        try tell("open")
    }

    mutating func run() throws {
        for change in Change.allCases {
            var step = 0
            while try meet(change, at: step) { step += 1 }
            // What has left is not synced.
            guard step > 0 || kind == .sync && change == .remove else {
                throw Wrong.neverFailed(change.rawValue)
            }
        }
        try reopen()
        try tell("open")
    }

    /// Makes a change of which the call with this number fails. False where it has fewer calls.
    private mutating func meet(_ change: Change, at step: Int) throws -> Bool {
        try prepare(change)
        try faults.begin(kind, after: step)
        var failure = try failure { try $0.make(change) }
        if kind == .full, let first = failure {
            if first.mayPass { try tell(change.name, hasFailed: true) }
            failure = try liveOn(first)
        }
        let count = try faults.end()
        guard count > 0 else {
            if let failure { throw failure }
            try tell(change.name)
            return false
        }
        failures += count
        if let failure {
            if !failure.mayPass {
                try reopen()
                try tell(change.name, hasFailed: true)
            }
            try make(change)
        } else if kind == .sync {
            throw Wrong.unnoticed("\(change) at sync \(step)")
        }
        try tell(change.name)
        try append(1, of: 20...600)
        try tell("append")
        let findings = try opened().verify()
        guard findings.isEmpty else { throw Wrong.damaged(findings) }
        return true
    }

    /// On a disk that is still full all can be read, and leaves. Returns the error with which
    /// the store is left.
    private mutating func liveOn(_ failure: StoreError) throws -> StoreError {
        guard failure.mayPass else {
            store = nil
            store = try Opening.open(folder)
            _ = try Facts(of: opened())
            store = nil
            return failure
        }
        let oldest = try opened().next(after: 0, limit: 2).map(\.sequence)
        let second = try self.failure { try $0.remove(oldest) }
        if second?.mayPass != false { try tell("remove") }
        return second ?? failure
    }

    private mutating func failure(
        _ body: (inout Self) throws -> Void
    ) throws -> StoreError? {
        do {
            try body(&self)
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    private mutating func reopen() throws {
        store = nil
        store = try Opening.open(folder)
        try store?.begin()
    }

    private func opened() throws -> BoardStore {
        guard let store else { throw Wrong.closed }
        return store
    }

    /// Says the facts. Each number must be there, have arrived, or be counted as lost.
    private func tell(_ change: String, hasFailed: Bool = false) throws {
        var facts = try Facts(of: opened())
        (facts.change, facts.hasFailed, facts.failures) = (change, hasFailed, failures)
        var (missing, lost) = (SequenceSet(), SequenceSet())
        if facts.last > 0 { missing.insert(1...facts.last) }
        for range in try opened().usage.losses.ranges { lost.insert(range) }
        for row in facts.rows {
            guard !lost.contains(row.seq) else { throw Wrong.lost(row.seq) }
            missing.remove(row.seq...row.seq)
        }
        missing.subtract(arrived)
        missing.subtract(lost)
        if let first = missing.first { throw Wrong.gone(first, change) }
        try facts.say()
    }
}

private enum Wrong: Error {
    case closed, neverFailed(String), unnoticed(String), damaged([String])
    /// A write that is still there was counted as lost.
    case lost(Int64)
    /// A write went and was not counted.
    case gone(Int64, String)
}

// The changes.
extension Trouble {
    private enum Change: String, CaseIterable {
        case append, rotate, remove, buryFirst, bury, expire, drop, keep, vault, end, destroy
        case rekey, open

        /// As `store_promises.py` knows it.
        var name: String {
            switch self {
            case .rotate: "append"
            case .buryFirst: "bury"
            case .keep: "drop"
            case .end: "vault"
            default: rawValue
            }
        }
    }

    /// Sees to it that there is something to change, in several segments.
    private mutating func prepare(_ change: Change) throws {
        if change == .buryFirst {
            try opened().commit([.destroyQueue])
            try tell("destroy")
        }
        if try change == .end || opened().window.count > 60 {
            try opened().commit([.claim(claim()), .clearWindow])
            try tell("vault")
        }
        try append(4, of: 1800...1900)
        try tell("append")
        while try opened().usage.messages < 12 {
            try append(3, of: 20...600)
            try tell("append")
        }
    }

    private mutating func make(_ change: Change) throws {
        let all = try opened().next(after: 0, limit: 1000, bytes: 4 << 20).map(\.sequence)
        switch change {
        case .append: try append(3, of: 20...600)
        case .rotate: try append(4, of: 1800...1900)
        case .remove: try remove(all.dropLast(4))
        case .buryFirst, .bury:
            // The same one again, whatever has left.
            try opened().bury([
                DeadLetterRequest(sequence: all[all.count - 4], reason: "too large"),
            ])
        case .expire:
            let end = try Sample.write(all[min(8, all.count - 1)], payload: []).acceptedAt
            try opened().commit([.expire(Timestamp(milliseconds: 0)..<end)])
        case .drop: try opened().makeRoom(9000, keep: [])
        case .keep: try opened().makeRoom(5000, keep: ["Log"].compactMap { ClassName($0) })
        case .vault: try opened().commit([.memory(memory())])
        // As the end of a session, it destroys a secret.
        case .end: try opened().commit([.claim(nil), .memory(memory())])
        case .destroy: try opened().commit([.claim(claim()), .memory(memory()), .destroyQueue])
        case .rekey: try opened().rekey(to: .file)
        case .open: try reopen()
        }
    }

    private mutating func remove(_ part: some Sequence<Int64>) throws {
        for sequence in part { arrived.insert(sequence) }
        try opened().remove(Array(part))
    }

    private mutating func append(_ count: Int, of payload: ClosedRange<Int>) throws {
        var (writes, packets, keys) = ([AcceptedWrite](), [DeliveredPacket](), [KeptKey]())
        for number in 1...Int64(count) {
            let sequence = try opened().lastSequence + number
            let size = payload.lowerBound + random.below(payload.count)
            writes.append(try Sample.write(
                sequence, payload: random.bytes(size),
                in: random.below(3) == 0 ? "Log" : "Reading"))
            packetID = packetID % 1000 + 1
            packets.append(DeliveredPacket(
                packetID: packetID, digest: UInt128(random.next()), sequence: sequence))
            keys.append(Sample.key(random.next(), sequence))
        }
        try opened().commit([.append(writes, window: packets, keys: keys)])
    }

    private mutating func claim() -> PendingClaim {
        PendingClaim(
            secret: SecretBytes(random.bytes(32)),
            expiresAt: Timestamp(milliseconds: Int64(random.below(1 << 30)) * 1000))
    }

    private mutating func memory() -> BoardMemory {
        BoardMemory(floor: Timestamp(milliseconds: Int64(random.below(1 << 30)) * 1000))
    }
}
