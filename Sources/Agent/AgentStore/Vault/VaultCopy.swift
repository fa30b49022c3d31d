import Cryptography
import LinuxIO
import Sessions

/// The file `vault.copy`, a copy of the vault's essential parts: the board's identity, the
/// queue's key, and whether the board was ever claimed.
///
/// If `vault` is damaged, cut or missing, the copy saves identity and queue, and prevents a false
/// first start. It contains no token, because an outdated session must not return. It is written
/// at the first start, at the first provisioning, with a new storage key, and when the queue is
/// destroyed.
struct VaultCopy {
    /// A rebuilt vault continues its sequence numbers after the next multiple of this, so that no
    /// number belongs to two writes. 2^53, the largest integer that every JSON reader accepts,
    /// leaves 8,191 such multiples.
    static let span: Int64 = 1 << 40
    private static let limit = 8192
    private static let version: UInt8 = 1
    private static let use = "copy"

    let identity: SecretBytes
    /// Whether a provisioning was ever accepted.
    let wasClaimed: Bool
    /// The multiple of `span` after which the vault's sequence numbers began.
    let base: Int64
    let queueKey: SecretBytes
    let generation: Int64

    /// Nil if the vault has no identity.
    init?(of content: VaultContent) {
        guard let identity = content.records[.identity] else { return nil }
        self.identity = identity
        wasClaimed = content.records[.trust] != nil || content.isRebuilt
        base = content.queue.last / Self.span * Self.span
        queueKey = content.queue.key
        generation = content.queue.generation
    }

    /// The content of a vault that is rebuilt from the copy.
    func rebuilt(highest: Int64) -> VaultContent {
        var content = VaultContent(queue: QueueControl(key: queueKey, generation: generation))
        content.records[.identity] = identity
        content.isRebuilt = wasClaimed || highest > 0
        content.queue.last = lastAfterLoss(of: highest)
        return content
    }

    /// The highest number that may have been assigned, if the exact one is unknown. All assigned
    /// numbers are below it.
    private func lastAfterLoss(of highest: Int64) -> Int64 {
        let (next, overflow) = (max(base, highest) / Self.span + 1)
            .multipliedReportingOverflow(by: Self.span)
        return overflow ? max(base, highest) : next
    }

    func isSame(as other: VaultCopy) -> Bool {
        wasClaimed == other.wasClaimed && base == other.base && generation == other.generation
            && identity.matches(other.identity) && queueKey.matches(other.queueKey)
    }

    private static func file(in folder: String) -> ReplacedFile {
        ReplacedFile(in: folder, "vault.copy")
    }

    static func isThere(in folder: String) -> Bool {
        PrivateFile.isThere(file(in: folder).path)
    }

    static func eraseOld(in folder: String) throws(StoreError) {
        try file(in: folder).eraseOld()
    }

    /// Nil if the copy does not exist, or this key does not open it.
    static func read(in folder: String, _ key: StorageKey) throws(StoreError) -> VaultCopy? {
        guard let sealed = try file(in: folder).read(limit: limit),
            let secret = try RecordBox.open(
                sealed, under: try key.derive(use), at: Array(use.utf8))
        else { return nil }
        var plain = secret.reveal()
        defer { plain.wipe() }
        return VaultCopy(plain)
    }

    private init?(_ plain: [UInt8]) {
        var reader = ByteReader(plain)
        guard reader.byte() == Self.version, let flag = reader.byte(),
            let base = reader.number(), let generation = reader.number(), base >= 0,
            let key = reader.skip(32)
        else { return nil }
        wasClaimed = flag == 1
        self.base = base
        self.generation = generation
        queueKey = SecretBytes(plain[key])
        identity = SecretBytes(reader.rest())
    }

    /// The copy is durable when this returns. The file's earlier content can then be read
    /// nowhere.
    func write(in folder: String, _ key: StorageKey) throws(StoreError) {
        var plain: [UInt8] = [Self.version, wasClaimed ? 1 : 0]
        defer { plain.wipe() }
        plain.append(number: base)
        plain.append(number: generation)
        plain.append(contentsOf: queueKey.reveal())
        plain.append(contentsOf: identity.reveal())
        let sealed = try RecordBox.seal(
            plain, under: try key.derive(Self.use), at: Array(Self.use.utf8))
        try Self.file(in: folder).write(sealed, isErasing: true)
        try Self.eraseOld(in: folder)
    }
}
