package import Sessions
package import Wire

/// The signing keys as the store had them last, for all requests of one process.
///
/// The store is the truth, and this a copy of it that may be a moment old. Nothing breaks on
/// that: a key that was retired meanwhile stays published for longer than any token that it
/// may still have signed, `SigningKeySet.margin` included.
package protocol SigningKeySource: Sendable {
    var current: SigningKeySet { get }
    func replace(with set: SigningKeySet)
}

/// Which key signs access tokens, and which ones boards should pin.
package struct SigningKeySet: Sendable {
    package let signing: TokenSigningKey
    /// The one that signs, then those whose tokens may still live, the last retired first.
    package let published: [SigningKey]

    /// At most so many are published.
    package static let limit = 16
    /// The longest life of an access token, whatever is configured.
    /// Source: the wire contract, The access token.
    package static let longestLife = Duration.seconds(3600)
    /// For what a replica or a clock may be late.
    package static let margin = Duration.seconds(300)

    /// Picks them from the store's records of all kinds; nil if none of them signs.
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
    /// When the last token that it may have signed has expired; nil while it is in use.
    ///
    /// By the longest life that a token can have, not by the one configured now: that may have
    /// been another when the token was signed.
    package var publishedUntil: Timestamp? {
        retiredAt.map { $0 + SigningKeySet.longestLife + SigningKeySet.margin }
    }
}

extension Authority {
    /// Every signing key on record: the one in use first, then the retired ones.
    package func signingKeyRecords() async throws(AuthorityError) -> [KeyRecord] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.keys().filter { $0.kind == .signing }
        }
    }

    /// Makes `key` the one that signs, in the store and here. Other processes that serve from
    /// the store go on signing with the old one until they call `reloadSigningKeys`.
    ///
    /// - Throws: 119 if as many are published as may be; then nothing has changed.
    package func rotate(
        to key: TokenSigningKey, actor: String
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            let before = SigningKeySet(try transaction.keys(), at: now)
            guard before.map({ $0.published.count < SigningKeySet.limit }) ?? true else {
                throw .refuse(
                    .forbidden, "\(SigningKeySet.limit) keys are published; the oldest goes "
                        + "65 minutes after it was retired")
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

    /// Takes up the signing keys that the store has now, whoever put them there, and drops
    /// those whose tokens have all expired. Returns whether another one signs than before.
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

    /// How many retired keys stay on record, for whoever reads an old token.
    private static let keptSigningKeys = 64
}
