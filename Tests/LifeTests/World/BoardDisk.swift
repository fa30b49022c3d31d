import AgentCore
import Gate
import Sessions
import Wire

/// What is durable on a board. Read back, each record has been through its JSON text, as in
/// the board's store.
struct BoardDisk: Sendable {
    let identity: BoardIdentity
    private(set) var claim: PendingClaim?
    private(set) var join: PendingJoin?
    private(set) var trust: Trust?
    private(set) var session: HeldSession?
    private(set) var memory: BoardMemory?
    private(set) var commands = TakenCommands()
    private(set) var lost: [Int64] = []
    private(set) var window: [DeliveredPacket] = []
    private(set) var keys: [KeptKey] = []
    private(set) var writes: [AcceptedWrite] = []
    private(set) var lastSequence: Int64 = 0

    init(_ identity: BoardIdentity) { self.identity = identity }

    /// Makes all changes; returns what must never be.
    mutating func commit(_ changes: [RecordChange]) -> [String] {
        let before = self
        var faults: [String] = []
        for change in changes {
            if case .append(let new, _, let given) = change {
                for key in given where keys.contains(where: { $0.digest == key.digest }) {
                    faults.append("a write was stored again, as \(key.sequence)")
                }
                for (last, next) in zip([lastSequence] + new.map(\.sequence), new)
                where next.sequence <= last {
                    faults.append("the seq of a record is \(next.sequence) after \(last)")
                }
            }
            apply(change)
        }
        if let old = before.trust, let new = trust, new.highestSequence < old.highestSequence,
            new.provision == old.provision
        {
            faults.append("the highest seq fell from \(old.highestSequence)")
        }
        return faults
    }

    private mutating func apply(_ change: RecordChange) {
        switch change {
        case .claim(let record): claim = record
        case .join(let record): join = record
        case .trust(let record): trust = record
        case .session(let record): session = record
        case .memory(let record): memory = record
        case .commands(let record): commands = record
        case .append(let new, let packets, let given):
            writes += new
            window += packets
            keys += given
            lastSequence = new.last?.sequence ?? lastSequence
        case .clearWindow: window.removeAll()
        case .destroyQueue: (writes, keys) = ([], [])
        case .expire(let span): writes.removeAll { span.contains($0.acceptedAt) }
        case .lose(let sequences): lost += sequences
        }
    }

    /// The records as an agent that starts now would find them.
    func load() throws -> BoardRecords {
        var records = BoardRecords(identity: try BoardIdentity(json: Self.read(identity.json)))
        records.claim = try claim.map { try PendingClaim(json: Self.read($0.json)) }
        records.join = try join.map { try PendingJoin(json: Self.read($0.json)) }
        records.trust = try trust.map { try Trust(json: Self.read($0.json)) }
        records.session = try session.map { try HeldSession(json: Self.read($0.json)) }
        records.memory = try memory.map { try BoardMemory(json: Self.read($0.json)) }
            ?? BoardMemory()
        records.commands = try TakenCommands(json: Self.read(commands.json))
        records.lastSequence = lastSequence
        return records
    }

    /// A record as it comes back from its text.
    private static func read(_ json: JSONValue) throws -> JSONObject {
        try JSONObject(parsing: json.bytes)
    }

    /// Every record but the identity as text, to be searched for what should be gone.
    var text: String {
        [claim?.json, join?.json, trust?.json, session?.json, memory?.json, commands.json]
            .compactMap { $0?.text }
            .joined(separator: "\n")
    }

    var queue: QueueState {
        QueueState(
            messages: Int64(writes.count),
            bytes: writes.reduce(0) { $0 + Int64($1.payload.count) + 64 },
            oldest: writes.first?.acceptedAt)
    }
}
