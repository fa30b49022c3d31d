import Cryptography
import Sessions

/// A record sealed with one key: a random nonce, the ciphertext, the tag.
enum RecordBox {
    static let overhead = AES256GCM.nonceCount + AES256GCM.tagCount

    static func seal(
        _ secret: SecretBytes, under key: SecretBytes, at place: [UInt8]
    ) throws(StoreError) -> [UInt8] {
        var plaintext = secret.reveal()
        defer { plaintext.wipe() }
        return try seal(plaintext, under: key, at: place)
    }

    static func seal(
        _ plaintext: [UInt8], under key: SecretBytes, at place: [UInt8]
    ) throws(StoreError) -> [UInt8] {
        do throws(CryptographyError) {
            let nonce = try RandomBytes.make(AES256GCM.nonceCount)
            return nonce + (try AES256GCM.seal(plaintext, key: key, nonce: nonce, aad: place))
        } catch {
            throw StoreError(error)
        }
    }

    /// Nil if any bit was changed.
    static func open(
        _ box: [UInt8], under key: SecretBytes, at place: [UInt8]
    ) throws(StoreError) -> SecretBytes? {
        guard box.count >= overhead else { return nil }
        let nonce = Array(box.prefix(AES256GCM.nonceCount))
        let sealed = Array(box.dropFirst(AES256GCM.nonceCount))
        do throws(CryptographyError) {
            var plaintext = try AES256GCM.open(sealed, key: key, nonce: nonce, aad: place)
            defer { plaintext.wipe() }
            return SecretBytes(plaintext)
        } catch .notAuthentic {
            return nil
        } catch {
            throw StoreError(error)
        }
    }
}
