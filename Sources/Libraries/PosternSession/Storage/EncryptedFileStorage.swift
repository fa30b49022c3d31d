#if canImport(CryptoKit) || EncryptedFile

public import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// Keeps the session in a file, under AES-256-GCM: for Linux, and where there is no keychain. On
/// Linux it needs the package's trait `EncryptedFile`.
///
/// Give it a key from a place that is safer than the file. Without one it makes a key file beside
/// the file. Then a copy of the file alone shows nothing, but who can read both files has the
/// session. Both have the mode 0600. ``clear()`` removes that key first, and then the file. It
/// overwrites neither.
public actor EncryptedFileStorage: SessionStorage {
    /// The most bytes of a record.
    public static let limit = 1 << 18
    private static let magic = Data("postern-session-1\n".utf8)

    private let file: DurableFile
    private let keyFile: DurableFile
    private let givenKey: SymmetricKey?

    /// `key` has 32 bytes; nil: a key file beside `file`, made at the first save.
    public init(file: URL, key: Data? = nil) throws(StorageError) {
        guard key.map({ $0.count == 32 }) ?? true else {
            throw .failed("the key of a session file has 32 bytes")
        }
        self.file = DurableFile(file)
        keyFile = DurableFile(file.appendingPathExtension("key"))
        givenKey = key.map { SymmetricKey(data: $0) }
    }

    public func load() throws(StorageError) -> Data? {
        guard let sealed = try file.read(limit: 2 * Self.limit) else { return nil }
        guard let key = try key() else {
            throw try unreadable("its key is not there")
        }
        guard sealed.starts(with: Self.magic) else { throw try unreadable("it is no session file") }
        let body = sealed.dropFirst(Self.magic.count)
        guard let box = try? AES.GCM.SealedBox(combined: body),
            let record = try? AES.GCM.open(box, using: key, authenticating: Self.magic)
        else { throw try unreadable("it is damaged, or its key is another") }
        return record
    }

    public func save(_ record: Data) throws(StorageError) {
        guard record.count <= Self.limit else {
            throw .failed("a session has more than \(Self.limit) bytes")
        }
        let key: SymmetricKey
        if let known = try self.key() {
            key = known
        } else {
            var random = SystemRandomNumberGenerator()
            let bytes = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            try keyFile.write(bytes)
            key = SymmetricKey(data: bytes)
        }
        guard
            let sealed = try? AES.GCM.seal(record, using: key, authenticating: Self.magic)
                .combined
        else { throw .failed("the session cannot be encrypted") }
        try file.write(Self.magic + sealed)
    }

    public func clear() throws(StorageError) {
        try keyFile.remove()
        try file.remove()
        try file.removeAside()
    }

    public func setAside() throws(StorageError) { _ = try file.setAside() }

    /// Nil if there is none yet, or none of the right length.
    private func key() throws(StorageError) -> SymmetricKey? {
        if let givenKey { return givenKey }
        guard let bytes = try keyFile.read(limit: 64), bytes.count == 32 else { return nil }
        return SymmetricKey(data: bytes)
    }

    private func unreadable(_ why: String) throws(StorageError) -> StorageError {
        .unreadable("the stored session cannot be read: \(why)", setAside: try file.setAside())
    }
}

#endif
