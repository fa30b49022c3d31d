package import Sessions

extension BoardDatabase {
    /// A record of the vault, or nil if it is not set.
    ///
    /// Throws `corrupt` with the record's name when any bit of it differs.
    package func read(_ record: VaultRecord) throws(StoreError) -> SecretBytes? {
        try snapshot { () throws(StoreError) in
            guard let box = try sealed(record) else { return nil }
            let key = keys[record.purpose]
            let place = Place.vault(record, generation: key.generation)
            guard let secret = try RecordBox.open(box, under: key.secret, at: place) else {
                throw .corrupt("vault record \(record.rawValue)")
            }
            return secret
        }
    }

    func put(_ record: VaultRecord, _ secret: SecretBytes) throws(StoreError) {
        let key = keys[record.purpose]
        let place = Place.vault(record, generation: key.generation)
        statements.putRecord.bind(1, record.rawValue)
        let box = try RecordBox.seal(secret, under: key.secret, at: place)
        try statements.putRecord.run(2, blob: box)
    }

    /// Removes a record and the key it was under; what else is under that key moves to a new
    /// one. A record that no longer opens stays as it is, and its reader will hear of it.
    func destroy(_ record: VaultRecord) throws(StoreError) {
        let delete = try Statement(connection, "DELETE FROM vault WHERE name = ?1")
        delete.bind(1, record.rawValue)
        try delete.run()
        try renewKey(record.purpose)
    }

    /// Overwrites a data key, and moves what opens under it to the new one.
    func renewKey(_ purpose: KeyPurpose) throws(StoreError) {
        let old = keys[purpose]
        var kept: [(VaultRecord, SecretBytes)] = []
        for record in VaultRecord.allCases where record.purpose == purpose {
            guard let box = try sealed(record) else { continue }
            let place = Place.vault(record, generation: old.generation)
            if let secret = try RecordBox.open(box, under: old.secret, at: place) {
                kept.append((record, secret))
            }
        }
        try replaceKey(purpose)
        for (record, secret) in kept { try put(record, secret) }
    }

    /// Overwrites a data key by a new random one, in memory and in its row.
    func replaceKey(_ purpose: KeyPurpose) throws(StoreError) {
        let (next, overflow) = keys[purpose].generation.addingReportingOverflow(1)
        let key = try DataKey.random(generation: overflow ? 1 : next)
        try KeyTable.replace(connection, key, for: purpose, wrapping)
        keys[purpose] = key
    }

    /// Whether a record is whole, or not set.
    func opens(_ record: VaultRecord) throws(StoreError) -> Bool {
        guard let box = try sealed(record) else { return true }
        let key = keys[record.purpose]
        let place = Place.vault(record, generation: key.generation)
        return try RecordBox.open(box, under: key.secret, at: place) != nil
    }

    private func sealed(_ record: VaultRecord) throws(StoreError) -> [UInt8]? {
        defer { statements.readRecord.reset() }
        statements.readRecord.bind(1, record.rawValue)
        return try statements.readRecord.step() ? try statements.readRecord.bytes(0) : nil
    }
}
