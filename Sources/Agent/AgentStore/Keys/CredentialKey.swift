import Cryptography
import LinuxIO
package import Sessions

/// A key derived from the systemd credential `postern.storage-key` of 32 bytes. systemd passes it
/// to the service in a separate folder. This program only reads it.
///
/// Source: systemd.exec(5), `LoadCredentialEncrypted=`; systemd-creds(1).
package struct CredentialKey: KeyKeeper {
    static let credential = "postern.storage-key"
    private static let saltCount = 16
    private static let info = Array("postern/storage-key/1 credential".utf8)
    package let tier = KeyTier.credential
    package let name = "the systemd credential \(Self.credential)"
    private let folder: String?

    /// `folder` is the value of `$CREDENTIALS_DIRECTORY`. Nil outside of a service.
    package init(folder: String?) { self.folder = folder }

    package func probe() throws(StoreError) { _ = try read() }

    package func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes) {
        let secret = try read()
        do throws(CryptographyError) {
            let salt = try RandomBytes.make(Self.saltCount)
            return (["salt": salt], try Self.derive(secret, salt))
        } catch {
            throw StoreError(error)
        }
    }

    package func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes {
        let salt = try field("salt", in: fields, count: Self.saltCount)
        let secret = try read()
        do throws(CryptographyError) {
            return try Self.derive(secret, salt)
        } catch {
            throw StoreError(error)
        }
    }

    private static func derive(
        _ secret: SecretBytes, _ salt: [UInt8]
    ) throws(CryptographyError) -> SecretBytes {
        try HKDFSHA256.derive(from: secret, salt: salt, info: info, count: KeyFile.keyCount)
    }

    private func read() throws(StoreError) -> SecretBytes {
        guard let folder, folder.hasPrefix("/") else {
            throw .keyUnreachable(
                source: name, reason: "systemd passes it to the running service only")
        }
        var bytes: [UInt8]
        do throws(FileFailure) {
            // systemd grants the service's user access by an access list, which appears as the
            // group's mode.
            bytes = try PrivateFile.read(
                "\(folder)/\(Self.credential)", limit: KeyFile.keyCount, strictestMode: 0o640)
        } catch {
            switch error {
            case .missing:
                throw .keyUnreachable(source: name, reason: "the service was handed none")
            case .tooLarge: throw .keyRefused(source: name, reason: "it has more than 32 bytes")
            default: throw StoreError(error)
            }
        }
        defer { bytes.wipe() }
        guard bytes.count == KeyFile.keyCount else {
            throw .keyRefused(source: name, reason: "it does not have 32 bytes")
        }
        return SecretBytes(bytes)
    }
}
