import Cryptography
import Sessions

/// The wrapped data keys in table `keys`, and a fingerprint of the key that wraps them.
enum KeyTable {
    private static let fingerprint = "fingerprint"

    /// Puts new keys into a new database.
    static func fill(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) {
        let insert = try Statement(connection, "INSERT INTO keys VALUES (?1, ?2, ?3)")
        let ring = try KeyRing.random()
        for purpose in KeyPurpose.allCases {
            insert.bind(1, purpose.rawValue)
            insert.bind(2, ring[purpose].generation)
            try insert.run(3, blob: try wrapping.wrap(ring[purpose], for: purpose))
        }
        insert.bind(1, fingerprint)
        insert.bind(2, 0)
        try insert.run(3, blob: try wrapping.fingerprint())
    }

    /// Overwrites one wrapped key.
    static func replace(
        _ connection: Connection, _ key: DataKey, for purpose: KeyPurpose, _ wrapping: KeyWrapping
    ) throws(StoreError) {
        let update = try Statement(
            connection, "UPDATE keys SET generation = ?2, wrapped = ?3 WHERE purpose = ?1")
        update.bind(1, purpose.rawValue)
        update.bind(2, key.generation)
        try update.run(3, blob: try wrapping.wrap(key, for: purpose))
    }

    /// Opens all keys.
    ///
    /// Throws `keyWrong` when neither the fingerprint nor any key fits the storage key, and
    /// `corrupt` with the key's name when only some do not.
    static func load(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> KeyRing {
        let select = try Statement(connection, "SELECT purpose, generation, wrapped FROM keys")
        var keys: [KeyPurpose: DataKey] = [:]
        var isKnown = false
        while try select.step() {
            let name = select.text(0)
            let wrapped = try select.bytes(2)
            if name == fingerprint {
                isKnown = constantTimeEquals(wrapped, try wrapping.fingerprint())
            } else if let purpose = KeyPurpose(rawValue: name) {
                keys[purpose] = try wrapping.unwrap(
                    wrapped, generation: select.int(1), for: purpose)
            }
        }
        guard isKnown || !keys.isEmpty else { throw .keyWrong(source: wrapping.source) }
        guard let identity = keys[.identity] else { throw .corrupt("key identity") }
        guard let vault = keys[.vault] else { throw .corrupt("key vault") }
        guard let queue = keys[.queue] else { throw .corrupt("key queue") }
        guard isKnown else { throw .corrupt("key fingerprint") }
        return KeyRing(identity: identity, vault: vault, queue: queue)
    }
}
