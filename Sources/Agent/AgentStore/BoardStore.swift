package import AgentCore
package import Gate
import LinuxIO
import Sessions
import Wire

/// The board's state folder: its vault and its queue.
///
/// One thread of one process owns it, by the lock of the folder. After a power cut at any instant
/// it holds what was there before or after the last change; see `QueueControl` for a change of
/// both.
package final class BoardStore {
    /// Of a segment of the queue: a sixteenth of the most bytes that the queue may have, from
    /// 256 KiB to 4 MiB.
    package static func segmentBytes(of limit: Int64) -> Int {
        Int(min(max(limit / 16, 1 << 18), 1 << 22)) / WriteTally.page * WriteTally.page
    }

    package let keyFile: KeyFile
    let vault: Vault
    let queue: Queue

    /// Opens the state in `folder`, or makes it with the identity that `founding` makes: never
    /// while anything of an old one is there. Reading needs no room on the disk.
    ///
    /// Throws `unreadable` when the vault is lost, and the copy of its identity, too.
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

    /// Whether there is a state in the folder, usable or not, or what is left of one.
    package static func exists(in folder: String) -> Bool {
        ["vault", "vault.copy", "storage.key", "outbox"].contains { name in
            PrivateFile.isThere("\(folder)/\(name)")
        }
    }

    /// Everything that is there for the agent. What was found wrong is said to `report`, a
    /// sentence each: a board whose session is lost can be claimed again, so it lives on.
    package func load(_ report: (String) -> Void = { _ in }) throws(StoreError) -> BoardRecords {
        for fault in vault.takeFaults() + takeDamaged().map({ "\($0) cannot be read" }) {
            report(fault)
        }
        guard let identity = try record(.identity, BoardIdentity.init(json:)) else {
            throw .corrupt("the vault has no identity")
        }
        var records = BoardRecords(identity: identity)
        records.claim = try record(.claim, PendingClaim.init(json:))
        records.trust = try record(.trust, Trust.init(json:))
        records.session = try record(.session, HeldSession.init(json:))
        if let memory = try record(.memory, BoardMemory.init(json:)) { records.memory = memory }
        records.lastSequence = queue.lastSequence
        records.isUnreadable = vault.content.isRebuilt
        if records.isUnreadable {
            report("the session is lost, though this board was claimed: pair this board again")
        }
        if records.trust == nil { records.queueUsers = try queue.users() }
        return records
    }

    /// Of bytes, and so of values: what this board has sealed for itself.
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

    /// What was found damaged since the last call.
    package func takeDamaged() -> [String] {
        defer { queue.noted.removeAll() }
        return queue.noted
    }
}

// What changes.
extension BoardStore {
    /// Makes changes durable, in their order: those of records with one change of the vault, and
    /// then the writes. A commit of the agent's has writes or records, never both. No write of
    /// the `spared` goes for its age.
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
        case .append(let writes, let packets): try queue.append(writes, packets)
        case .expire(let span):
            try queue.expire(span.lowerBound, span.upperBound, sparing: spared)
        case .lose(let sequences): try queue.lose(sequences)
        case .claim, .trust, .session, .memory, .clearWindow, .destroyQueue: break
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

    /// Mends what a crash has left: comes before anything is acknowledged on the bus.
    package func begin() throws(StoreError) { try queue.begin() }

    /// Throws where so many bytes of writes cannot be kept now. Asked before they are taken.
    package func checkRoom(for bytes: Int) throws(StoreError) { try queue.checkRoom(for: bytes) }

    /// Goes over to a new storage key: see `Vault.rekey`.
    package func rekey(to tier: KeyTier?, isBest: Bool = false) throws(StoreError) {
        try vault.rekey(keyFile, to: tier, isBest: isBest)
    }

    /// Throws where the vault lost its name.
    package func checkPlace() throws(StoreError) { try vault.checkPlace() }
}

extension VaultContent {
    fileprivate mutating func apply(_ change: RecordChange, windowFloor: Int64) {
        switch change {
        case .claim(let claim): put(.claim, claim?.json)
        case .trust(let trust):
            put(.trust, trust.json)
            // What an authority says makes the vault whole again.
            isRebuilt = false
        case .session(let held): put(.session, held?.json)
        case .memory(let memory): put(.memory, memory.json)
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
        case .claim(nil), .session(nil): true
        default: false
        }
    }
}

// The queue.
extension BoardStore {
    package var usage: QueueState { queue.usage() }
    package var fileBytes: Int64 { queue.fileBytes }
    /// What the disk has had to write.
    package var written: WriteTally { queue.tally }
    /// The packets of the bus that may come again, in order.
    package var window: [DeliveredPacket] { queue.window.suffix(Queue.windowLimit) }
    package var lastSequence: Int64 { queue.lastSequence }

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

    package func bury(_ burials: [Burial]) throws(StoreError) { try queue.bury(burials) }

    /// See `Queue.makeRoom`.
    package func makeRoom(_ bytes: Int64, keep: [ClassName]) throws(StoreError) {
        try queue.begin()
        try queue.makeRoom(bytes, keep: keep)
    }

    package func deadLetters(limit: Int) throws(StoreError) -> [DeadLetter] {
        try queue.deadLetters(limit: limit)
    }
}

// Sequences that are given without a word on disk.
extension BoardStore {
    /// The highest that may have been given, and the last one that was, as of the last clean end.
    package var reserve: (reserved: Int64, given: Int64) {
        let control = vault.content.queue
        return (control.reserved, control.given)
    }

    /// Sets both; nil leaves one as it is. `lost` is booked with it.
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
