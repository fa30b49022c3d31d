import Sessions

/// Binds a login at a provider to one browser, without a stored row.
///
/// The cookie holds its creation time, 32 random bytes, and an HMAC of both and of the provider's
/// name. `state`, `nonce` and the code verifier are other HMACs of the same bytes. So every replica
/// can compute them, nobody else can, and a begun login costs no room.
///
/// Source: RFC 6749 §10.12; RFC 7636 §4.1; RFC 9700 §2.1.
struct ProviderVisit {
    let provider: LoginProvider

    /// The time for the person to log in there.
    static let life = Duration.seconds(600)
    private static let randomCount = 32
    private static let headCount = Timestamp.shortCount + randomCount
    private static let count = headCount + 32
    /// A used visit is stored an hour longer, because the clock may be set back.
    private static let margin = Duration.seconds(3600)

    /// What the provider receives of a visit. Each is 43 characters of base64url.
    struct Secrets: Sendable {
        let state: SecretBytes
        let nonce: SecretBytes
        let verifier: SecretBytes
        fileprivate let spendingHash: [UInt8]
        fileprivate let madeAt: Timestamp

        /// Marks the visit as used. False: it was used before. Of two at once, one wins.
        func spend(_ transaction: any AuthorityTransaction) throws(AuthorityError) -> Bool {
            try transaction.spend(hash: spendingHash, until: madeAt + life + margin)
        }
    }

    /// A new cookie's text.
    func begin(_ authority: Authority, at now: Timestamp) throws(AuthorityError) -> SecretBytes {
        let head = now.shortBytes + (try authority.cryptography.random(Self.randomCount))
        return Self.text(head + (try hash("visit", head, authority)))
    }

    /// The secrets of a cookie. Nil if the authority did not make it for this provider, or if it is
    /// too old.
    func secrets(
        of cookie: SecretBytes?, _ authority: Authority, at now: Timestamp
    ) throws(AuthorityError) -> Secrets? {
        guard let cookie, cookie.count <= 2 * Self.count,
            let bytes = Base64URL.decode(String(decoding: cookie.reveal(), as: UTF8.self)),
            bytes.count == Self.count
        else { return nil }
        let head = Array(bytes.prefix(Self.headCount))
        let expected = SecretBytes(try hash("visit", head, authority))
        guard expected.matches(SecretBytes(bytes.dropFirst(Self.headCount))) else { return nil }
        let madeAt = Timestamp(shortBytes: head.prefix(Timestamp.shortCount))
        let age = now - madeAt
        // The clock of the replica that made it may be ahead.
        guard age >= .zero - IDTokenClaims.ahead, age < Self.life else { return nil }
        return Secrets(
            state: Self.text(try hash("state", head, authority)),
            nonce: Self.text(try hash("nonce", head, authority)),
            verifier: Self.text(try hash("verifier", head, authority)),
            spendingHash: try hash("spent", head, authority), madeAt: madeAt)
    }

    private func hash(
        _ use: String, _ head: [UInt8], _ authority: Authority
    ) throws(AuthorityError) -> [UInt8] {
        try authority.hash(of: SecretBytes(
            Array("postern/v1 provider \(use) \(provider) ".utf8) + head))
    }

    private static func text(_ bytes: [UInt8]) -> SecretBytes {
        SecretBytes(Array(Base64URL.encode(bytes).utf8))
    }
}
