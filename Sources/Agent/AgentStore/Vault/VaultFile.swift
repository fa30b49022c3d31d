import LinuxIO
import Sessions

/// The file `vault`: a marker, a fingerprint of the storage key, then one sealed box.
struct VaultFile {
    static let fingerprintBytes = 16
    private static let marker = Array("postern vault 1\n".utf8)
    private static let headBytes = marker.count + fingerprintBytes
    private static let use = "vault"
    /// The most bytes of the file: more than records, losses and given-up numbers can need.
    private static let sizeLimit = 16 << 20

    private let file: ReplacedFile
    var path: String { file.path }
    /// The name for a vault that cannot be opened.
    private var damaged: String { path + ".damaged" }

    init(in folder: String) { file = ReplacedFile(in: folder, "vault") }

    /// The result of opening the file with a storage key.
    enum Found {
        case missing
        case content(VaultContent)
        /// Some bit was changed, or it belongs to another storage key.
        case unopened(isOfThisKey: Bool)
    }

    func open(_ key: StorageKey) throws(StoreError) -> Found {
        guard let bytes = try file.read(limit: Self.sizeLimit) else { return .missing }
        let head = Array(bytes.prefix(Self.headBytes))
        let isOfThisKey = try head == Self.marker + key.fingerprint()
        guard isOfThisKey,
            let secret = try RecordBox.open(
                Array(bytes.dropFirst(Self.headBytes)), under: try key.derive(Self.use), at: head)
        else { return .unopened(isOfThisKey: isOfThisKey) }
        var plain = secret.reveal()
        defer { plain.wipe() }
        guard let content = VaultContent(plain) else { throw .newerForm(file: path) }
        return .content(content)
    }

    /// The content is durable when this returns. Returns the number of bytes written.
    @discardableResult
    func replace(
        _ content: VaultContent, _ key: StorageKey, isErasing: Bool = false
    ) throws(StoreError) -> Int {
        let head = Self.marker + (try key.fingerprint())
        let box = try content.withBytes { (plain) throws(StoreError) in
            try RecordBox.seal(plain, under: try key.derive(Self.use), at: head)
        }
        try file.write(head + box, isErasing: isErasing)
        return head.count + box.count
    }

    func eraseOld() throws(StoreError) { try file.eraseOld() }

    /// Keeps a vault that cannot be opened under another name.
    func setAside() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.move(path, to: damaged)
        } catch .missing {
            return
        } catch {
            throw StoreError(error)
        }
    }

    /// Destroys the vault that was set aside, because the storage key may open a part of it.
    func removeDamaged() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(damaged)
            try PrivateFile.remove(damaged)
        } catch {
            throw StoreError(error)
        }
    }
}
