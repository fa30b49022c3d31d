import Cryptography
import LinuxIO
import Sessions

/// The file `vault.copy`: what a board cannot do without, once more: its identity, the queue's
/// key, and whether it was ever claimed.
///
/// A `vault` that is damaged, shortened or gone then costs neither identity nor queue, and is
/// never taken for a first start. It has no token: a session that was renewed since must not come
/// back. Written at the first start, at the first provisioning, with a new storage key, and when
/// the queue is destroyed.
struct VaultCopy {
    /// A vault that was lost with its numbers goes on behind the next multiple of this: what a
    /// number stood for is never another write. 2^53, the most that JSON carries to everybody,
    /// leaves room for 8,191 of them.
    static let span: Int64 = 1 << 40
    private static let limit = 8192
    private static let version: UInt8 = 1
    private static let use = "copy"

    let identity: SecretBytes
    /// A provisioning was accepted once.
    let wasClaimed: Bool
    /// The numbers of the vault began behind it.
    let base: Int64
    let queueKey: SecretBytes
    let generation: Int64

    /// Nil where the vault has no identity.
    init?(of content: VaultContent) {
        guard let identity = content.records[.identity] else { return nil }
        self.identity = identity
        wasClaimed = content.records[.trust] != nil || content.isRebuilt
        base = content.queue.last / Self.span * Self.span
        queueKey = content.queue.key
        generation = content.queue.generation
    }

    /// A vault of what the copy has.
    func rebuilt(highest: Int64) -> VaultContent {
        var content = VaultContent(queue: QueueControl(key: queueKey, generation: generation))
        content.records[.identity] = identity
        content.isRebuilt = wasClaimed || highest > 0
        content.queue.last = lastAfterLoss(of: highest)
        return content
    }

    /// The last number that may have been given, where nobody knows it: all are below.
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

    /// Nil where it is not there, or does not open with this key.
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

    /// Durable when it returns; what the file held before can be read nowhere then.
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
