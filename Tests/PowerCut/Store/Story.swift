import BoardStore
import Foundation
import Gate
import Sessions

/// A board's life as its database sees it: random changes from a seed, and after each the facts.
///
/// Between two lines of facts stands one change, so a power cut may leave the one or the other.
struct Story {
    private let folder: String
    private let isBulky: Bool
    private var random: Lot
    private var database: BoardDatabase?
    private var packetID: UInt16 = 0

    /// `isBulky`: large messages, so that the log is checkpointed and the file shrinks.
    init(folder: String, seed: UInt64, isBulky: Bool) throws {
        self.folder = folder
        self.isBulky = isBulky
        random = Lot(state: seed)
        // The facts before there is anything.
        try Facts().say()
        try reopen()
    }

    mutating func run(rounds: Int) throws {
        try change([.put(.identity, secret()), .put(.claim, secret()), .put(.memory, secret())])
        try change([.put(.trust, secret()), .put(.session, secret()), .destroy(.claim)])
        for round in 0..<rounds {
            try isBulky ? turnBulky(round) : turn()
        }
        // As the agent ends: with its database closed.
        try reopen()
    }

    /// What the agent does most stands most often in this table.
    private mutating func turn() throws {
        switch random.below(40) {
        case 0..<17: try append(1 + random.below(6), payload: 20...600)
        case 17..<29: try remove()
        case 29..<32: try change([.put(.session, secret()), .put(.memory, secret())])
        case 32..<34: try change([.counter("dropped", Int64(random.below(1000)))])
        case 34: try change([.destroy(.session), .put(.memory, secret())])
        case 35: try change([.put(.claim, secret())])
        case 36: try change([.put(.session, secret()), .destroy(.claim), .destroyQueue])
        case 37: try change([.clearWindow])
        case 38: try rekey()
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
        if round % 40 == 39 { try change([.put(.session, secret())]) }
    }

    private mutating func append(_ count: Int, payload: ClosedRange<Int>) throws {
        var writes: [AcceptedWrite] = []
        var entries: [WindowEntry] = []
        for number in 1...Int64(count) {
            let sequence = try store().lastSequence + number
            let size = payload.lowerBound + random.below(payload.count)
            writes.append(try Sample.write(sequence, payload: random.bytes(size)))
            packetID = packetID % 1000 + 1
            entries.append(WindowEntry(
                packetID: packetID, digest: UInt128(random.next()), sequence: sequence))
        }
        try change([.append(writes), .window(entries)])
    }

    /// The oldest part, as the upstream broker has acknowledged it.
    private mutating func remove() throws {
        let part = try store().next(after: 0, limit: 1 + random.below(12), bytes: 4 << 20)
        if !part.isEmpty { try change([.remove(part.map(\.sequence))]) }
    }

    private mutating func change(_ changes: [StoreChange]) throws {
        try store().transact(changes)
        try tell()
    }

    /// Another storage key: the facts are as before, wherever power is cut in it.
    private func rekey() throws {
        try store().rekey(KeyFile(folder: folder), to: .file)
        try tell()
    }

    private mutating func reopen() throws {
        database = nil
        database = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
        try tell()
    }

    private func tell() throws { try Facts(of: store()).say() }

    private func store() throws -> BoardDatabase {
        guard let database else { throw Closed() }
        return database
    }

    private struct Closed: Error {}

    private mutating func secret() -> SecretBytes { SecretBytes(random.bytes(300)) }
}
