import Cryptography
import LinuxIO
package import Sessions

/// The file `identity.copy` beside the database: the board's identity once more, and whether it
/// was ever claimed.
///
/// A `board.db` that is damaged, shortened or gone, or rows of it that were deleted, then cost
/// no identity, and are never taken for a first start. It is sealed under the storage key, and
/// written at the first start, at the first provisioning, and with a new storage key.
package struct IdentityCopy: Sendable {
    /// Each database that was lost with its numbers begins behind the next multiple of this:
    /// what a number stood for is never another write. 2^53, the most that JSON carries to
    /// everybody, leaves room for 8,191 of them.
    static let span: Int64 = 1 << 40
    private static let name = "identity.copy"
    private static let limit = 8192
    private static let version: UInt8 = 1

    package let identity: SecretBytes
    /// A provisioning was accepted once.
    package let wasClaimed: Bool
    /// The numbers of the database begin behind it.
    let base: Int64

    package init(_ identity: SecretBytes, wasClaimed: Bool, lastSequence: Int64) {
        self.identity = identity
        self.wasClaimed = wasClaimed
        base = lastSequence / Self.span * Self.span
    }

    /// The last number that may have been given, where nobody knows it: all lie below.
    func baseAfterLoss(of highest: Int64) -> Int64 {
        let (next, overflow) = (max(base, highest) / Self.span + 1)
            .multipliedReportingOverflow(by: Self.span)
        return overflow ? max(base, highest) : next
    }

    static func isThere(in folder: String) -> Bool { PrivateFile.isThere(path(in: folder)) }

    /// Nil where it is not there, or does not open with this key.
    ///
    /// Throws `unsafePermissions` where others may read it.
    static func read(
        in folder: String, _ wrapping: KeyWrapping
    ) throws(StoreError) -> IdentityCopy? {
        let sealed: [UInt8]
        do throws(FileFailure) {
            sealed = try PrivateFile.read(path(in: folder), limit: limit)
        } catch {
            switch error {
            case .missing, .tooLarge: return nil
            default: throw StoreError(error)
            }
        }
        guard let secret = try wrapping.openCopy(sealed) else { return nil }
        var plain = secret.reveal()
        defer { plain.wipe() }
        var bytes = ByteReader(plain)
        guard bytes.byte() == version, let flag = bytes.byte(), let base = bytes.number(),
            base >= 0
        else { return nil }
        return IdentityCopy(
            SecretBytes(bytes.rest()), wasClaimed: flag == 1, lastSequence: base)
    }

    func write(in folder: String, _ wrapping: KeyWrapping) throws(StoreError) {
        var plain: [UInt8] = [Self.version, wasClaimed ? 1 : 0]
        plain.append(number: base)
        plain.append(contentsOf: identity.reveal())
        defer { plain.wipe() }
        let sealed = try wrapping.sealCopy(SecretBytes(plain))
        do throws(FileFailure) {
            try PrivateFile.write(Self.path(in: folder), sealed)
        } catch {
            throw StoreError(error)
        }
    }

    private static func path(in folder: String) -> String { "\(folder)/\(name)" }
}

extension BoardDatabase {
    /// The copy beside the database; nil if there is none, or it does not open.
    package func identityCopy() throws(StoreError) -> IdentityCopy? {
        try IdentityCopy.read(in: files.folder, wrapping)
    }

    /// Durable when it returns.
    package func keep(_ copy: IdentityCopy) throws(StoreError) {
        try copy.write(in: files.folder, wrapping)
    }
}
