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
