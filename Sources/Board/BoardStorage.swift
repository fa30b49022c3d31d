import AgentCore
import BoardStore
import Cryptography
import LinuxIO
import Sessions
import Wire

/// The agent's records and changes on the board's database.
struct BoardStorage {
    private let database: BoardDatabase

    /// Opens the database in `folder`, or makes it together with a new identity.
    init(folder: String, cryptography: Cryptographer) throws(StoreError) {
        database = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
        if try database.read(.identity) == nil {
            try makeIdentity(cryptography)
        }
    }

    private func makeIdentity(_ cryptography: Cryptographer) throws(StoreError) {
        let identity: BoardIdentity
        do throws(CryptographyFailure) {
            let (secret, key) = try cryptography.makeDeviceKey()
            identity = BoardIdentity(
                installation: InstallationID(random: try cryptography.random(16)),
                deviceSecret: secret, deviceKey: key)
        } catch {
            throw .cryptography("the making of the device key")
        }
        try database.transact([.put(.identity, SecretBytes(identity.json.bytes))])
    }

    /// Everything that is there. An unreadable session is said to be so; an unreadable
    /// identity cannot be lived without and throws.
    func load() throws(StoreError) -> BoardRecords {
        guard let identity = try record(.identity, BoardIdentity.init(json:)) else {
            throw .corrupt(VaultRecord.identity.rawValue)
        }
        var records = BoardRecords(identity: identity)
        records.claim = try record(.claim, PendingClaim.init(json:))
        records.trust = try record(.trust, Trust.init(json:))
        records.memory = try record(.memory, BoardMemory.init(json:)) ?? BoardMemory()
        do throws(StoreError) {
            records.session = try record(.session, HeldSession.init(json:))
        } catch {
            guard case .corrupt = error else { throw error }
            records.isUnreadable = true
        }
        records.lastSequence = database.lastSequence
        return records
    }

    private func record<T>(
        _ name: VaultRecord, _ parse: (JSONObject) throws(WireError) -> T
    ) throws(StoreError) -> T? {
        guard let secret = try database.read(name) else { return nil }
        do throws(WireError) {
            return try parse(try JSONObject(parsing: secret.reveal(), limit: 1_048_576))
        } catch {
            throw .corrupt(name.rawValue)
        }
    }

    func window() throws(StoreError) -> [DeliveredPacket] {
        try database.redeliveryWindow().map { entry in
            DeliveredPacket(
                packetID: entry.packetID, digest: entry.digest, sequence: entry.sequence)
        }
    }

    var queue: QueueState {
        let usage = database.usage()
        return QueueState(messages: usage.messages, bytes: usage.bytes, oldest: usage.oldest)
    }

    var queueReader: BoardDatabase { database }

    /// Makes all changes durable, or none.
    func commit(_ changes: [RecordChange]) throws(StoreError) {
        try database.transact(changes.flatMap(Self.translate))
    }

    private static func translate(_ change: RecordChange) -> [StoreChange] {
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
        case .destroyQueue: [.destroyQueue]
        }
    }

    private static func put(_ record: VaultRecord, _ json: JSONValue?) -> StoreChange {
        json.map { .put(record, SecretBytes($0.bytes)) } ?? .destroy(record)
    }
}
