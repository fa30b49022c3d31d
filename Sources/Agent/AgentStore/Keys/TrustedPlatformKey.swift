import Cryptography
package import Sessions
package import TPM

/// A key sealed to the TPM 2.0 of this board. No other TPM opens it, whatever was copied.
package struct TrustedPlatformKey: KeyKeeper {
    package let tier = KeyTier.tpm2
    private let platform: TrustedPlatform

    package init(_ platform: TrustedPlatform) { self.platform = platform }

    package var name: String { "the TPM at \(platform.transport)" }

    package func probe() throws(StoreError) {
        try asking { () throws(TrustedPlatformError) in try platform.probe() }
    }

    package func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes) {
        let key: SecretBytes
        do throws(CryptographyError) {
            key = try RandomBytes.secret(KeyFile.keyCount)
        } catch {
            throw StoreError(error)
        }
        let sealed = try asking { () throws(TrustedPlatformError) in try platform.seal(key) }
        let fields = [
            "parent": sealed.parent, "public": sealed.publicPart, "private": sealed.privatePart,
        ]
        return (fields, key)
    }

    package func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes {
        let sealed = SealedKey(
            parent: try field("parent", in: fields),
            publicPart: try field("public", in: fields),
            privatePart: try field("private", in: fields))
        let key = try asking { () throws(TrustedPlatformError) in try platform.unseal(sealed) }
        guard key.count == KeyFile.keyCount else {
            throw .keyRefused(source: name, reason: "the sealed data is not a key")
        }
        return key
    }

    private func asking<R>(
        _ body: () throws(TrustedPlatformError) -> R
    ) throws(StoreError) -> R {
        do throws(TrustedPlatformError) {
            return try body()
        } catch {
            switch error {
            case .otherChip, .damaged: throw .keyRefused(source: name, reason: "\(error)")
            case .noLibrary, .unreachable, .refused:
                throw .keyUnreachable(source: name, reason: "\(error)")
            }
        }
    }
}
