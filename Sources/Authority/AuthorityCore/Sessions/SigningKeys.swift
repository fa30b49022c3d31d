package import Sessions
package import Wire

/// A copy of the store's signing keys, for all requests of one process.
///
/// The store is authoritative, and the copy may be slightly old. That breaks nothing: a retired key
/// stays published for longer than any token that it may still have signed, `SigningKeySet.margin`
/// included.
package protocol SigningKeySource: Sendable {
    var current: SigningKeySet { get }
    func replace(with set: SigningKeySet)
}

/// The key that signs access tokens, and the keys that boards should pin.
package struct SigningKeySet: Sendable {
    package let signing: TokenSigningKey
    /// The key that signs, then the retired keys whose tokens may still be valid, the last retired
    /// first.
    package let published: [SigningKey]

    /// The maximum number of published keys.
    package static let limit = 16
    /// The longest possible life of an access token, whatever is configured.
    /// Source: the wire contract, The access token.
    package static let longestLife = Duration.seconds(3600)
    /// Extra time for late replicas and wrong clocks.
    package static let margin = Duration.seconds(300)

    /// Selects the signing keys from the store's records of all kinds. Nil if no key signs.
    package init?(_ records: [KeyRecord], at now: Timestamp) {
        let keys = records.filter { $0.kind == .signing }
        guard let current = keys.first(where: { $0.retiredAt == nil }),
            let kid = KeyID(current.name)
        else { return nil }
        signing = TokenSigningKey(
            publicKey: SigningKey(kid: kid, key: current.publicKey),
            privateKey: current.privateKey)
        let retired = keys.filter { record in record.publishedUntil.map { $0 > now } ?? false }
            .compactMap { record in
                KeyID(record.name).map { SigningKey(kid: $0, key: record.publicKey) }
            }
        published = [signing.publicKey] + retired.prefix(Self.limit - 1)
    }
}

extension KeyRecord {
    /// When the last token that this key may have signed has expired. Nil while the key is in use.
    ///
    /// Uses the longest possible life of a token, because the configured life may have been
    /// different when the token was signed.
    package var publishedUntil: Timestamp? {
        retiredAt.map { $0 + SigningKeySet.longestLife + SigningKeySet.margin }
    }
}

extension Authority {
    /// All signing keys in the store: the one in use first, then the retired ones.
    package func signingKeyRecords() async throws(AuthorityError) -> [KeyRecord] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.keys().filter { $0.kind == .signing }
        }
    }

    /// Makes `key` the signing key, in the store and in this process. Other processes on the store
    /// keep signing with the old one until they call `reloadSigningKeys`.
    ///
    /// - Throws: 119 if the maximum of keys is published; then nothing has changed.
    package func rotate(
        to key: TokenSigningKey, actor: String
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            let before = SigningKeySet(try transaction.keys(), at: now)
            guard before.map({ $0.published.count < SigningKeySet.limit }) ?? true else {
                throw .refuse(
                    .forbidden, "\(SigningKeySet.limit) keys are published; try again later: "
                        + "a key is removed 65 minutes after it was retired")
            }
            try transaction.retireSigningKey(at: now, keeping: Self.keptSigningKeys)
            try transaction.insert(KeyRecord(
                kind: .signing, name: key.publicKey.kid.description,
                publicKey: key.publicKey.key, privateKey: key.privateKey, createdAt: now))
            let old = before?.signing.publicKey.kid.description ?? "none"
            try audit(
                "keys.rotated", actor, nil, nil, "\(old) to \(key.publicKey.kid)", transaction,
                at: now)
        }
        try await reloadSigningKeys()
    }

    /// Loads the store's present signing keys, and drops those whose tokens have all expired.
    /// Returns whether the signing key changed.
    @discardableResult
    package func reloadSigningKeys() async throws(AuthorityError) -> Bool {
        let records = try await signingKeyRecords()
        guard let set = SigningKeySet(records, at: clock()) else {
            throw .failed(layer: "store", text: "no signing key is in the store")
        }
        let before = keys.signing.publicKey.kid
        keys.signingKeys.replace(with: set)
        return before != set.signing.publicKey.kid
    }

    /// How many retired keys stay in the store, to read old tokens.
    private static let keptSigningKeys = 64
}
