package import AgentCore
package import Gate
import LinuxIO
import Sessions
import Wire

/// The board's state folder with its vault and queue.
///
/// One thread of one process owns it, by the folder's lock. After a power cut at any instant it
/// holds the state before or after the last change. See `QueueControl` for a change of both.
package final class BoardStore {
    /// The size of a queue segment in bytes: a sixteenth of the queue's byte limit, from 256 KiB
    /// to 4 MiB.
    package static func segmentBytes(of limit: Int64) -> Int {
        Int(min(max(limit / 16, 1 << 18), 1 << 22)) / WriteTally.page * WriteTally.page
    }

    package let keyFile: KeyFile
    let vault: Vault
    let queue: Queue

    /// Opens the state in `folder`. Creates it with the identity from `founding`, but never if
    /// any part of an old state exists. Reading needs no free disk space.
    ///
    /// Throws `unreadable` if the vault and the copy of its identity are lost.
    package init(
        folder: String, keyFile: KeyFile, segmentBytes: Int = 1 << 22,
        founding: () throws(StoreError) -> BoardIdentity
    ) throws(StoreError) {
        self.keyFile = keyFile
        vault = try Vault(folder: folder, keyFile) { () throws(StoreError) in
            SecretBytes(try founding().json.bytes)
        }
        queue = try Queue(in: folder, vault, segmentBytes: segmentBytes)
    }

    /// Whether the folder contains a state, usable or not, or parts of one.
    package static func exists(in folder: String) -> Bool {
        ["vault", "vault.copy", "storage.key", "outbox"].contains { name in
            PrivateFile.isThere("\(folder)/\(name)")
        }
    }

    /// Loads all records for the agent. Passes each fault to `report` as one sentence. A board
    /// whose session is lost still loads, because it can be claimed again.
    package func load(_ report: (String) -> Void = { _ in }) throws(StoreError) -> BoardRecords {
        for fault in vault.takeFaults() + takeDamaged().map({ "\($0) cannot be read" }) {
            report(fault)
        }
        guard let identity = try record(.identity, BoardIdentity.init(json:)) else {
            throw .corrupt("the vault has no identity")
        }
        var records = BoardRecords(identity: identity)
        records.claim = try record(.claim, PendingClaim.init(json:))
        records.join = try record(.join, PendingJoin.init(json:))
        records.trust = try record(.trust, Trust.init(json:))
        records.session = try record(.session, HeldSession.init(json:))
        if let memory = try record(.memory, BoardMemory.init(json:)) { records.memory = memory }
        records.commands = commands(records.memory, report)
        records.lastSequence = queue.lastSequence
        records.isUnreadable = vault.content.isRebuilt
        if records.isUnreadable {
            report("the session is lost, though this board was claimed: pair this board again")
        }
        if records.trust == nil { records.queueUsers = try queue.users() }
        return records
    }

    /// A board whose commands are lost takes no new one for a day, but all else goes on.
    private func commands(_ memory: BoardMemory, _ report: (String) -> Void) -> TakenCommands {
        do throws(StoreError) {
            return try record(.commands, TakenCommands.init(json:)) ?? TakenCommands()
        } catch {
            report("\(error): no command is taken for a day, unless this board is paired again")
            let now = Timestamp(milliseconds: SystemClock.wallMilliseconds)
            return TakenCommands(lostAt: max(now, memory.floor))
        }
    }

    /// The limit for bytes and values of a record. The board has sealed its records itself.
    private static let recordLimit = 1_048_576

    private func record<T>(
        _ name: VaultRecord, _ parse: (JSONObject) throws(WireError) -> T
    ) throws(StoreError) -> T? {
        guard let secret = vault.content.records[name] else { return nil }
        do throws(WireError) {
            return try parse(try JSONObject(
                parsing: secret.reveal(), limit: Self.recordLimit, values: Self.recordLimit))
        } catch {
            throw .corrupt("vault record \(name.rawValue)")
        }
    }

    /// Returns the names of damaged parts that were found since the last call.
    package func takeDamaged() -> [String] {
        defer { queue.noted.removeAll() }
        return queue.noted
    }
}

// Commits changes.
extension BoardStore {
    /// Makes changes durable, in order: record changes in one change of the vault, then the
    /// writes. A commit of the agent has writes or records, never both. Writes in `spared` do not
    /// expire.
    package func commit(
        _ changes: [RecordChange], sparing spared: Set<Int64> = []
    ) throws(StoreError) {
        var records: [RecordChange] = []
        for change in changes {
            switch change {
            case .append, .expire, .lose:
                try commit(records: records)
                records.removeAll()
                try commit(change, sparing: spared)
            default: records.append(change)
            }
        }
        try commit(records: records)
    }

    private func commit(
        _ change: RecordChange, sparing spared: Set<Int64>
    ) throws(StoreError) {
        switch change {
        case .append(let writes, let packets, let keys):
            try queue.append(writes, packets, keys)
        case .expire(let span):
            try queue.expire(span.lowerBound, span.upperBound, sparing: spared)
        case .lose(let sequences): try queue.lose(sequences)
        case .claim, .join, .trust, .session, .memory, .commands, .clearWindow, .destroyQueue:
            break
        }
    }

    private func commit(records changes: [RecordChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        let isDestroying = changes.contains { if case .destroyQueue = $0 { true } else { false } }
        let floor = queue.lastSequence
        let apply = { (content: inout VaultContent) in
            for change in changes { content.apply(change, windowFloor: floor) }
        }
        if isDestroying {
            try queue.destroy(apply)
        } else {
            try vault.change(isErasing: changes.contains(where: \.isErasing)) { content in
                apply(&content)
                queue.stamp(&content.queue)
            }
        }
        if changes.contains(where: { if case .clearWindow = $0 { true } else { false } }) {
            queue.window.removeAll()
        }
    }

    /// Repairs the queue after a crash. Call it before anything is acknowledged on the bus.
    package func begin() throws(StoreError) { try queue.begin() }

    /// Throws if this many bytes of writes cannot be stored now. Call it before accepting them.
    package func checkRoom(for bytes: Int) throws(StoreError) { try queue.checkRoom(for: bytes) }

    /// Changes to a new storage key: see `Vault.rekey`.
    package func rekey(to tier: KeyTier?, isBest: Bool = false) throws(StoreError) {
        try vault.rekey(keyFile, to: tier, isBest: isBest)
    }

    /// Throws if the vault's file was moved or deleted.
    package func checkPlace() throws(StoreError) { try vault.checkPlace() }
}

extension VaultContent {
    fileprivate mutating func apply(_ change: RecordChange, windowFloor: Int64) {
        switch change {
        case .claim(let claim): put(.claim, claim?.json)
        case .join(let join): put(.join, join?.json)
        case .trust(let trust):
            put(.trust, trust.json)
            // The authority's new trust completes a rebuilt vault.
            isRebuilt = false
        case .session(let held): put(.session, held?.json)
        case .memory(let memory): put(.memory, memory.json)
        case .commands(let commands): put(.commands, commands.isEmpty ? nil : commands.json)
        case .clearWindow: queue.windowFloor = windowFloor
        case .append, .expire, .lose, .destroyQueue: break
        }
    }

    private mutating func put(_ record: VaultRecord, _ json: JSONValue?) {
        records[record] = json.map { SecretBytes($0.bytes) }
    }
}

extension RecordChange {
    /// Whether it destroys a secret.
    fileprivate var isErasing: Bool {
        switch self {
        case .claim(nil), .join(nil), .session(nil): true
        default: false
        }
    }
}

// The queue.
extension BoardStore {
    package var usage: QueueState { queue.usage() }
    package var fileBytes: Int64 { queue.fileBytes }
    /// The bytes written to disk.
    package var written: WriteTally { queue.tally }
    /// The bus packets that may be delivered again, in order.
    package var window: [DeliveredPacket] { queue.window.suffix(Queue.windowLimit) }
    package var lastSequence: Int64 { queue.lastSequence }
    /// The keys of the last writes on disk, oldest first.
    package var keys: [KeptKey] { queue.keys.newest }
    /// The keys of later writes that were never on disk.
    package var unsavedKeys: [KeptKey] { queue.unsavedKeys }

    /// See `Queue.keep`.
    package func keep(_ keys: [KeptKey]) { queue.keep(keys) }

    /// See `Queue.saveKeys`.
    package func saveKeys() throws(StoreError) { try queue.saveKeys() }

    /// See `Queue.next`.
    package func next(
        after sequence: Int64, limit: Int, bytes: Int = 1 << 20
    ) throws(StoreError) -> [AcceptedWrite] {
        try queue.next(after: sequence, limit: limit, bytes: bytes)
    }

    /// See `Queue.remove`.
    package func remove(_ sequences: [Int64]) throws(StoreError) {
        try queue.begin()
        try queue.remove(sequences)
    }

    package func bury(_ burials: [DeadLetterRequest]) throws(StoreError) { try queue.bury(burials) }

    /// See `Queue.makeRoom`.
    package func makeRoom(_ bytes: Int64, keep: [ClassName]) throws(StoreError) {
        try queue.begin()
        try queue.makeRoom(bytes, keep: keep)
    }

    package func deadLetters(limit: Int) throws(StoreError) -> [DeadLetter] {
        try queue.deadLetters(limit: limit)
    }
}

// Sequence numbers that are assigned before anything is on disk.
extension BoardStore {
    /// The highest number that may have been assigned, and the last assigned one at the last
    /// clean end.
    package var reserve: (reserved: Int64, given: Int64) {
        let control = vault.content.queue
        return (control.reserved, control.given)
    }

    /// Sets both numbers. Nil leaves `given` unchanged. Records `lost` as losses in the same
    /// change.
    package func reserve(
        upTo reserved: Int64, given: Int64? = nil, lost: ClosedRange<Int64>? = nil
    ) throws(StoreError) {
        try vault.change { content in
            content.queue.reserved = reserved
            if let given { content.queue.given = given }
            if let lost { content.queue.ledger.losses.lose(lost, .unknown) }
            queue.stamp(&content.queue)
        }
    }
}
