import AgentCore
import BoardStore
import Cryptography
import Gate
import LinuxIO
import Sessions
import Wire

/// The agent's records and changes on the board's database.
struct BoardStorage {
    private let database: BoardDatabase
    let keyFile: KeyFile

    /// Opens the database in `folder`, or makes it together with a new identity: never while
    /// anything of an old one is there.
    init(
        folder: String, cryptography: Cryptographer, keyFile: KeyFile? = nil
    ) throws(StoreError) {
        self.keyFile = keyFile ?? KeyFile(folder: folder)
        database = try BoardDatabase(folder: folder, keySource: self.keyFile) {
            () throws(StoreError) in
            SecretBytes(try BoardIdentity.made(by: cryptography).json.bytes)
        }
        try keepCopy()
    }

    /// Sees to it that the copy beside the database says what is so.
    private func keepCopy() throws(StoreError) {
        guard let identity = try opened(.identity) else { return }
        let copy = try database.identityCopy()
        let isProvisioned = try !isMissing(.trust)
        let wasClaimed = isProvisioned || copy?.wasClaimed ?? false
        if let copy, copy.wasClaimed == wasClaimed, copy.identity.matches(identity) { return }
        try database.keep(IdentityCopy(
            identity, wasClaimed: wasClaimed, lastSequence: database.lastSequence))
    }

    /// A record; nil where it is not there or does not open.
    private func opened(_ record: VaultRecord) throws(StoreError) -> SecretBytes? {
        do throws(StoreError) {
            return try database.read(record)
        } catch .corrupt {
            return nil
        }
    }

    private func isMissing(_ record: VaultRecord) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try database.read(record) == nil
        } catch .corrupt {
            return false
        }
    }

    /// Everything that is there; what cannot be read is said to `report`, a sentence each.
    ///
    /// A board without its claim, trust or session can be paired again, so it lives on: also by
    /// the copy of its identity. Without that copy, an identity that cannot be read throws.
    func load(_ report: (String) -> Void = { _ in }) throws(StoreError) -> BoardRecords {
        let copy = try database.identityCopy()
        let (identity, isCopied) = try identity(copy)
        for record in database.takeDamaged() { report("\(record.name) cannot be read") }
        var records = BoardRecords(identity: identity)
        records.claim = try whole(.claim, PendingClaim.init(json:)) { text in
            report(text + ": it no longer counts, `postern-agent pair` makes another")
        }
        records.memory = try whole(.memory, BoardMemory.init(json:)) { text in
            records.memory.floor = Release.date
            report(text + ": what it told of the time is lost")
        } ?? records.memory
        records.trust = try whole(.trust, Trust.init(json:)) { text in
            records.isUnreadable = true
            report(text + ": pair this board again")
        }
        records.session = try whole(.session, HeldSession.init(json:)) { text in
            records.isUnreadable = true
            report(text + ": pair this board again")
        }
        records.lastSequence = database.lastSequence
        if isCopied {
            records.isUnreadable = true
            report("the record `identity` is lost and its copy is used: pair this board again")
        } else if !records.isUnreadable, lacksSession(records, copy) {
            records.isUnreadable = true
            report("the session's records are gone, though this board was claimed: "
                + "pair this board again")
        }
        // Nothing could renew or revoke a session whose authority is not known.
        if records.isUnreadable, isCopied || records.trust == nil { records.session = nil }
        if records.trust == nil { records.queueUsers = try database.queueUsers() }
        return records
    }

    /// Whether there should be a session: there was one, and nothing says that it ended.
    private func lacksSession(_ records: BoardRecords, _ copy: IdentityCopy?) -> Bool {
        if records.session != nil { return records.trust == nil }
        guard records.memory.ended == nil else { return false }
        return records.trust != nil || copy?.wasClaimed == true || records.lastSequence > 0
    }

    /// The identity, and whether it is the copy of one that is lost.
    private func identity(
        _ copy: IdentityCopy?
    ) throws(StoreError) -> (BoardIdentity, isCopied: Bool) {
        if let secret = try opened(.identity),
            let identity = try? parsed(secret, as: .identity, BoardIdentity.init(json:))
        {
            return (identity, false)
        }
        guard let copy else { throw .corrupt(VaultRecord.identity.rawValue) }
        return (try parsed(copy.identity, as: .identity, BoardIdentity.init(json:)), true)
    }

    /// A record, or nil where there is none; nil too, and a report, where it is damaged.
    private func whole<T>(
        _ name: VaultRecord, _ parse: (JSONObject) throws(WireError) -> T,
        isDamaged report: (String) -> Void
    ) throws(StoreError) -> T? {
        do throws(StoreError) {
            return try record(name, parse)
        } catch {
            guard case .corrupt(let what) = error else { throw error }
            report("the record `\(name.rawValue)` cannot be read (\(what))")
            return nil
        }
    }

    /// Of bytes, and so of values: what this board has sealed for itself.
    private static let recordLimit = 1_048_576

    private func record<T>(
        _ name: VaultRecord, _ parse: (JSONObject) throws(WireError) -> T
    ) throws(StoreError) -> T? {
        guard let secret = try database.read(name) else { return nil }
        return try parsed(secret, as: name, parse)
    }

    private func parsed<T>(
        _ secret: SecretBytes, as name: VaultRecord, _ parse: (JSONObject) throws(WireError) -> T
    ) throws(StoreError) -> T {
        do throws(WireError) {
            return try parse(try JSONObject(
                parsing: secret.reveal(), limit: Self.recordLimit, values: Self.recordLimit))
        } catch {
            throw .corrupt(name.rawValue)
        }
    }

    func window() throws(StoreError) -> [DeliveredPacket] {
        try database.redeliveryWindow().map { DeliveredPacket($0, isDurable: true) }
    }

    /// The highest sequence that was given, and the packets that have one and are not on disk.
    ///
    /// After a crash of an agent that gave some without a word on disk, `found` tells which;
    /// without it all that were reserved count as given, and are announced as a gap. Where it
    /// tells, nothing is changed: a second crash before the bus is read finds the same.
    func settleSequences(
        _ found: [WindowEntry]
    ) throws(StoreError) -> (last: Int64, undurable: [WindowEntry]) {
        let counters = database.counters
        let known = max(database.lastSequence, counters[SequenceReserve.given] ?? 0)
        let reserved = counters[SequenceReserve.reserved] ?? 0
        guard reserved > known else { return (known, []) }
        let undurable = found.filter { $0.sequence > known && $0.sequence <= reserved }
        // Written since the bound was moved, or all that was given is on disk: nothing is left out.
        let begun = min(known, reserved - SequenceReserve.stride)
        let isTold = (found.last?.sequence).map { $0 >= begun } ?? false
        let last = isTold ? max(known, undurable.last?.sequence ?? 0) : reserved
        if !isTold {
            try database.transact([
                .lose(known + 1...reserved, .unknown),
                .counter(SequenceReserve.given, last), .counter(SequenceReserve.reserved, 0),
            ])
        }
        return (last, undurable)
    }

    var queue: QueueState {
        let usage = database.usage()
        var state = QueueState(
            messages: usage.messages, bytes: usage.bytes, oldest: usage.oldest)
        state.dead = usage.dead
        state.losses = usage.losses
        return state
    }

    var queueReader: BoardDatabase { database }

    /// Makes all changes durable, or none. No write of the `spared` goes for its age.
    func commit(
        _ changes: [RecordChange], after first: [StoreChange] = [], sparing spared: Set<Int64> = []
    ) throws(StoreError) {
        let isTrust = changes.contains { if case .trust = $0 { true } else { false } }
        // A provisioning, or what an authority says at last, makes the vault whole again.
        let missing = isTrust ? try missingIdentity() : []
        try database.transact(
            first + missing + changes.flatMap { Self.translate($0, sparing: spared) })
        if isTrust { try keepCopy() }
    }

    private func missingIdentity() throws(StoreError) -> [StoreChange] {
        guard try opened(.identity) == nil, let copy = try database.identityCopy() else {
            return []
        }
        return [.put(.identity, copy.identity)]
    }

    private static func translate(
        _ change: RecordChange, sparing spared: Set<Int64>
    ) -> [StoreChange] {
        switch change {
        case .claim(let claim): [put(.claim, claim?.json)]
        case .trust(let trust): [put(.trust, trust.json)]
        case .session(let held): [put(.session, held?.json)]
        case .memory(let memory): [put(.memory, memory.json)]
        case .append(let writes, let window):
            [
                .append(writes),
                .window(window.map { packet in
                    WindowEntry(
                        packetID: packet.packetID, digest: packet.digest,
                        sequence: packet.sequence)
                }),
            ]
        case .clearWindow: [.clearWindow]
        case .expire(let span):
            [.expire(from: span.lowerBound, before: span.upperBound, sparing: spared)]
        case .lose(let sequences): sequences.map { .lose($0...$0, .unknown) }
        case .destroyQueue: [.destroyQueue]
        }
    }

    private static func put(_ record: VaultRecord, _ json: JSONValue?) -> StoreChange {
        json.map { .put(record, SecretBytes($0.bytes)) } ?? .destroy(record)
    }
}

extension DeliveredPacket {
    init(_ entry: WindowEntry, isDurable: Bool) {
        self.init(
            packetID: entry.packetID, digest: entry.digest, sequence: entry.sequence,
            isDurable: isDurable)
    }
}

extension BoardIdentity {
    /// A new one; it is nowhere yet.
    static func made(by cryptography: Cryptographer) throws(StoreError) -> BoardIdentity {
        do throws(CryptographyFailure) {
            let (secret, key) = try cryptography.makeDeviceKey()
            return BoardIdentity(
                installation: InstallationID(random: try cryptography.random(16)),
                deviceSecret: secret, deviceKey: key)
        } catch {
            throw .cryptography("the making of the device key")
        }
    }
}
