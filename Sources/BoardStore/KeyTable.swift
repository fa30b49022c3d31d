import Cryptography
import Sessions

/// The wrapped data keys in table `keys`, and a fingerprint of the key that wraps them.
enum KeyTable {
    private static let fingerprint = "fingerprint"

    /// Puts new keys into a new database.
    static func fill(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> KeyRing {
        let ring = try KeyRing.random()
        for purpose in KeyPurpose.allCases {
            try insert(connection, ring[purpose], purpose, wrapping)
        }
        try insert(connection, fingerprintOf: wrapping)
        return ring
    }

    /// Overwrites one wrapped key, and forgets a damaged one that was kept in its place.
    static func replace(
        _ connection: Connection, _ key: DataKey, for purpose: KeyPurpose, _ wrapping: KeyWrapping
    ) throws(StoreError) {
        try connection.run("DELETE FROM keys WHERE purpose = 'damaged \(purpose.rawValue)'")
        try insert(connection, key, purpose, wrapping)
    }

    /// Puts the fingerprint of another storage key in the place of the one that was there, and
    /// forgets damaged keys: what they once were opens with that one.
    static func replaceFingerprint(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) {
        try connection.run("DELETE FROM keys WHERE purpose LIKE 'damaged %'")
        try insert(connection, fingerprintOf: wrapping)
    }

    /// Whether this is the storage key of the database.
    static func fits(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try unwrap(connection, wrapping)
            return true
        } catch .keyWrong {
            return false
        }
    }

    /// Opens all keys.
    ///
    /// Throws `keyWrong` when neither the fingerprint nor any key fits the storage key, and
    /// `corrupt` with the key's name when only some do not.
    static func load(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> KeyRing {
        let found = try unwrap(connection, wrapping)
        guard let identity = found.keys[.identity] else { throw .corrupt("key identity") }
        guard let vault = found.keys[.vault] else { throw .corrupt("key vault") }
        guard let queue = found.keys[.queue] else { throw .corrupt("key queue") }
        guard found.isKnown else { throw .corrupt("key fingerprint") }
        return KeyRing(identity: identity, vault: vault, queue: queue)
    }

    /// Opens all keys, and puts a new one in the place of each that is damaged, so that what
    /// is under the others stays usable. The damaged one is kept beside it. Names them.
    static func loadOrReplace(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> (ring: KeyRing, damaged: [String]) {
        let found = try unwrap(connection, wrapping)
        let lost = KeyPurpose.allCases.filter { found.keys[$0] == nil }
        guard !lost.isEmpty || !found.isKnown else { return (try load(connection, wrapping), []) }
        try connection.run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            for purpose in lost {
                let name = purpose.rawValue
                try connection.run("""
                    UPDATE OR REPLACE keys SET purpose = 'damaged \(name)'
                        WHERE purpose = '\(name)'
                    """)
                try insert(connection, .random(generation: 1), purpose, wrapping)
            }
            try insert(connection, fingerprintOf: wrapping)
            try connection.run("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.run("ROLLBACK") }
            throw error
        }
        let names = lost.map { "key \($0.rawValue)" }
        return (try load(connection, wrapping), names + (found.isKnown ? [] : ["key fingerprint"]))
    }

    private static func unwrap(
        _ connection: Connection, _ wrapping: KeyWrapping
    ) throws(StoreError) -> (keys: [KeyPurpose: DataKey], isKnown: Bool) {
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
        return (keys, isKnown)
    }

    private static func insert(
        _ connection: Connection, _ key: DataKey, _ purpose: KeyPurpose, _ wrapping: KeyWrapping
    ) throws(StoreError) {
        try insert(
            connection, purpose.rawValue, key.generation, try wrapping.wrap(key, for: purpose))
    }

    private static func insert(
        _ connection: Connection, fingerprintOf wrapping: KeyWrapping
    ) throws(StoreError) {
        try insert(connection, fingerprint, 0, try wrapping.fingerprint())
    }

    private static func insert(
        _ connection: Connection, _ name: String, _ generation: Int64, _ wrapped: [UInt8]
    ) throws(StoreError) {
        let insert = try Statement(
            connection,
            "INSERT OR REPLACE INTO keys (purpose, generation, wrapped) VALUES (?1, ?2, ?3)")
        insert.bind(1, name)
        insert.bind(2, generation)
        try insert.run(3, blob: wrapped)
    }
}
