import Cryptography
import Sessions

/// What a data key is for. Destroying one leaves what is under the others.
enum KeyPurpose: String, CaseIterable {
    case identity, vault, queue
}

/// A random key under which records stand, and how many there were before it.
struct DataKey {
    let secret: SecretBytes
    let generation: Int64

    static func random(generation: Int64) throws(StoreError) -> DataKey {
        do throws(CryptographyError) {
            return DataKey(secret: try RandomBytes.secret(32), generation: generation)
        } catch {
            throw StoreError(error)
        }
    }
}

/// The data keys in use.
struct KeyRing {
    var identity: DataKey
    var vault: DataKey
    var queue: DataKey

    static func random() throws(StoreError) -> KeyRing {
        KeyRing(
            identity: try .random(generation: 1), vault: try .random(generation: 1),
            queue: try .random(generation: 1))
    }

    subscript(purpose: KeyPurpose) -> DataKey {
        get {
            switch purpose {
            case .identity: identity
            case .vault: vault
            case .queue: queue
            }
        }
        set {
            switch purpose {
            case .identity: identity = newValue
            case .vault: vault = newValue
            case .queue: queue = newValue
            }
        }
    }
}

extension VaultRecord {
    /// The key that the record is under.
    var purpose: KeyPurpose {
        switch self {
        case .identity, .claim, .trust, .memory: .identity
        case .session: .vault
        }
    }
}

/// Wraps the data keys under the storage key.
struct KeyWrapping {
    private let storageKey: SecretBytes
    let source: String

    init(_ storageKey: SecretBytes, source: String) {
        self.storageKey = storageKey
        self.source = source
    }

    /// A value that tells this storage key from another one without giving it away.
    func fingerprint() throws(StoreError) -> [UInt8] {
        try derive("fingerprint").reveal()
    }

    func wrap(_ key: DataKey, for purpose: KeyPurpose) throws(StoreError) -> [UInt8] {
        let place = Place.key(purpose, generation: key.generation)
        return try RecordBox.seal(key.secret, under: try derive(purpose.rawValue), at: place)
    }

    /// Nil when the key is wrong or any bit of the wrapped key or its generation differs.
    func unwrap(
        _ wrapped: [UInt8], generation: Int64, for purpose: KeyPurpose
    ) throws(StoreError) -> DataKey? {
        let place = Place.key(purpose, generation: generation)
        let key = try RecordBox.open(wrapped, under: try derive(purpose.rawValue), at: place)
        guard let key, key.count == 32 else { return nil }
        return DataKey(secret: key, generation: generation)
    }

    private func derive(_ use: String) throws(StoreError) -> SecretBytes {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: storageKey, salt: [], info: Array("postern/store/1 \(use)".utf8), count: 32)
        } catch {
            throw StoreError(error)
        }
    }
}

/// One record under one key: a random nonce, the ciphertext, the tag.
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

    /// Nil when any bit differs.
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
