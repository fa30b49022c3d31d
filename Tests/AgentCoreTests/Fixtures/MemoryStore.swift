import AgentCore
import Gate
import Sessions
import Wire

/// What is on disk, in memory: each record as its JSON text, as the board's store has it.
struct MemoryStore {
    private var identity: [UInt8]
    private var claim: [UInt8]?
    private(set) var join: [UInt8]?
    var trust: [UInt8]?
    private var session: [UInt8]?
    private var memory: [UInt8]?
    private(set) var commands: [UInt8]?
    private(set) var lost: [Int64] = []
    private(set) var window: [DeliveredPacket] = []
    private(set) var keys: [KeptKey] = []
    private(set) var writes: [AcceptedWrite] = []
    private(set) var lastSequence: Int64 = 0
    private(set) var commits = 0
    var isUnreadable = false
    private var losses = QueueLosses()

    init(_ identity: BoardIdentity) { self.identity = identity.json.bytes }

    mutating func commit(_ changes: [RecordChange]) {
        commits += 1
        for change in changes { apply(change) }
    }

    private mutating func apply(_ change: RecordChange) {
        switch change {
        case .claim(let record): claim = record?.json.bytes
        case .join(let record): join = record?.json.bytes
        case .trust(let record): trust = record.json.bytes
        case .session(let record): session = record?.json.bytes
        case .memory(let record): memory = record.json.bytes
        case .commands(let record): commands = record.isEmpty ? nil : record.json.bytes
        case .append(let new, let packets, let given):
            writes += new
            window += packets
            keys += given
            lastSequence = new.last?.sequence ?? lastSequence
        case .clearWindow: window.removeAll()
        case .destroyQueue: destroyQueue()
        case .expire(let span): writes.removeAll { span.contains($0.acceptedAt) }
        case .lose(let sequences): lost += sequences
        }
    }

    private mutating func destroyQueue() {
        losses.total += Int64(writes.count)
        losses.causes[.destroyed, default: 0] += Int64(writes.count)
        losses.ranges += writes.map { $0.sequence...$0.sequence }
        writes.removeAll()
        keys.removeAll()
    }

    /// The records as an agent that starts now would find them.
    func load() throws -> BoardRecords {
        var records = BoardRecords(
            identity: try BoardIdentity(json: JSONObject(parsing: identity)))
        records.claim = try claim.map { try PendingClaim(json: JSONObject(parsing: $0)) }
        records.join = try join.map { try PendingJoin(json: JSONObject(parsing: $0)) }
        records.trust = try trust.map { try Trust(json: JSONObject(parsing: $0)) }
        records.session = try session.map { try HeldSession(json: JSONObject(parsing: $0)) }
        records.memory = try memory.map { try BoardMemory(json: JSONObject(parsing: $0)) }
            ?? BoardMemory()
        records.commands = try commands.map { try TakenCommands(json: JSONObject(parsing: $0)) }
            ?? TakenCommands()
        records.isUnreadable = isUnreadable
        records.lastSequence = lastSequence
        if trust == nil { records.queueUsers = Set(writes.map(\.user.description)).sorted() }
        if isUnreadable { records.session = nil }
        return records
    }

    /// Everything as text, to be searched for what should be gone.
    var text: String {
        [identity, claim, join, trust, session, memory, commands].compactMap(\.self)
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    var queue: QueueState {
        var state = QueueState(
            messages: Int64(writes.count),
            bytes: writes.reduce(0) { $0 + Int64($1.payload.count) + 64 },
            oldest: writes.first?.acceptedAt)
        state.losses = losses
        return state
    }
}
