import AgentCore
import AgentStore
import Foundation
import Gate
import Sessions
import Wire

/// A board's life as its store sees it: random changes from a seed, and after each the facts.
///
/// Between two lines of facts stands one change, so a power cut may leave the one or the other.
struct Story {
    private let folder: String
    private let isBulky: Bool
    private var random: Lot
    private var store: BoardStore?
    private var packetID: UInt16 = 0

    /// `isBulky`: large messages, so that a batch takes several frames, and segments come and go.
    init(folder: String, seed: UInt64, isBulky: Bool) throws {
        self.folder = folder
        self.isBulky = isBulky
        random = Lot(state: seed)
        // The facts before there is anything.
        try Facts().say()
        try reopen()
    }

    mutating func run(rounds: Int) throws {
        try change("vault", [.claim(claim()), .memory(memory())])
        try change("vault", [.claim(nil), .memory(memory())])
        for round in 0..<rounds {
            try isBulky ? turnBulky(round) : turn()
        }
        // As the agent ends: with its files closed.
        try reopen()
    }

    /// What the agent does most stands most often in this table.
    private mutating func turn() throws {
        switch random.below(48) {
        case 0..<17: try append(1 + random.below(6), payload: 20...600)
        case 17..<29: try remove()
        case 29..<32: try change("vault", [.memory(memory())])
        case 32: try reserve()
        case 33: try saveKeys()
        case 34: try change("vault", [.claim(nil), .memory(memory())])
        case 35: try change("vault", [.claim(claim())])
        case 36: try change("destroy", [.claim(claim()), .memory(memory()), .destroyQueue])
        case 37: try change("window", [.clearWindow])
        case 38: try rekey()
        case 39..<41: try bury()
        case 41..<43: try drop()
        case 43..<45: try expire()
        case 45: try change("vault", [.lose([try opened().lastSequence + 1000])])
        default: try reopen()
        }
    }

    /// Fills and drains by turns: 8 MiB in, and out again.
    private mutating func turnBulky(_ round: Int) throws {
        if round % 40 < 20 {
            try append(8, payload: 20_000...60_000)
        } else {
            try remove()
        }
        if round % 40 == 39 { try change("vault", [.memory(memory())]) }
    }

    private mutating func append(_ count: Int, payload: ClosedRange<Int>) throws {
        var writes: [AcceptedWrite] = []
        var packets: [DeliveredPacket] = []
        var keys: [KeptKey] = []
        for number in 1...Int64(count) {
            let sequence = try opened().lastSequence + number
            let size = payload.lowerBound + random.below(payload.count)
            writes.append(try Sample.write(
                sequence, payload: random.bytes(size),
                in: random.below(3) == 0 ? "Log" : "Reading"))
            packetID = packetID % 1000 + 1
            packets.append(DeliveredPacket(
                packetID: packetID, digest: UInt128(random.next()), sequence: sequence))
            if random.below(3) > 0 { keys.append(Sample.key(random.next(), sequence)) }
        }
        try change("append", [.append(writes, window: packets, keys: keys)])
    }

    /// The oldest part, as the upstream broker has acknowledged it; now and then some of it only.
    private mutating func remove() throws {
        var part = try opened().next(after: 0, limit: 1 + random.below(12), bytes: 4 << 20)
            .map(\.sequence)
        if random.below(4) == 0 { part.removeAll { _ in random.below(3) == 0 } }
        guard !part.isEmpty else { return }
        try opened().remove(part)
        try tell("remove")
    }

    private mutating func bury() throws {
        let part = try opened().next(after: 0, limit: 6, bytes: 4 << 20).map(\.sequence)
        guard let sequence = part.isEmpty ? nil : part[random.below(part.count)] else { return }
        try opened().bury([DeadLetterRequest(sequence: sequence, reason: "too large")])
        try tell("bury")
    }

    private mutating func drop() throws {
        let keep = random.below(2) == 0 ? [] : ["Log"].compactMap { ClassName($0) }
        try opened().makeRoom(Int64(1 + random.below(4000)), keep: keep)
        try tell("drop")
    }

    private mutating func expire() throws {
        let store = try opened()
        guard let oldest = store.usage.oldest else { return }
        try change("expire", [.expire(
            Timestamp(milliseconds: 0)..<Timestamp(
                milliseconds: oldest.milliseconds + Int64(random.below(8))))])
    }

    private mutating func reserve() throws {
        try opened().reserve(
            upTo: Int64(random.below(1000)), given: Int64(random.below(1000)))
        try tell("vault")
    }

    /// Of a write that went upstream without the disk, as at a clean stop.
    private mutating func saveKeys() throws {
        try opened().keep([Sample.key(random.next(), try opened().lastSequence)])
        try opened().saveKeys()
        try tell("keys")
    }

    private mutating func change(_ name: String, _ changes: [RecordChange]) throws {
        try opened().commit(changes)
        try tell(name)
    }

    /// Another storage key: the facts are as before, wherever power is cut in it.
    private func rekey() throws {
        try opened().rekey(to: .file)
        try tell("rekey")
    }

    private mutating func reopen() throws {
        store = nil
        store = try Opening.open(folder)
        try store?.begin()
        try tell("open")
    }

    /// Says the facts after a change; `store_promises.py` knows the names.
    private func tell(_ change: String) throws {
        var facts = try Facts(of: opened())
        facts.change = change
        try facts.say()
    }

    private func opened() throws -> BoardStore {
        guard let store else { throw Closed() }
        return store
    }

    private struct Closed: Error {}

    private mutating func claim() -> PendingClaim {
        PendingClaim(
            secret: SecretBytes(random.bytes(32)),
            expiresAt: Timestamp(milliseconds: Int64(random.below(1 << 30)) * 1000))
    }

    private mutating func memory() -> BoardMemory {
        BoardMemory(floor: Timestamp(milliseconds: Int64(random.below(1 << 30)) * 1000))
    }
}
