import Sessions

/// Binds a challenge to one browser, one purpose and one session, without a stored row.
///
/// The cookie holds its creation time, 32 random bytes, and an HMAC of both, of the purpose and of
/// the session. The challenge is another HMAC of the same bytes. So a page that knows the challenge
/// cannot make the cookie, and a challenge is of no use in another browser.
///
/// Only a challenge that is used is stored, as a spent proof. So asking for challenges costs no
/// room.
struct PasskeyVisit {
    let purpose: PasskeyPurpose
    /// Nil for a login.
    let session: ObjectID?

    /// How long a challenge lives.
    static let life = Duration.seconds(300)
    private static let randomCount = 32
    private static let headCount = Timestamp.shortCount + randomCount
    private static let count = headCount + 32
    /// A used challenge is stored an hour longer, because the clock may be set back.
    private static let margin = Duration.seconds(3600)

    /// A new cookie's bytes.
    func begin(_ authority: Authority, at now: Timestamp) throws(AuthorityError) -> [UInt8] {
        let head = now.shortBytes + (try authority.cryptography.random(Self.randomCount))
        return head + (try proof(of: head, authority))
    }

    func challenge(
        of cookie: [UInt8], _ authority: Authority
    ) throws(AuthorityError) -> [UInt8] {
        try authority.hash(of: SecretBytes(
            Array("postern/v1 passkey challenge ".utf8) + cookie.prefix(Self.headCount)))
    }

    /// Spends the challenge of a cookie and returns it. Nil if the cookie is not of this purpose
    /// and session, if it is over, or if it was spent.
    func spend(
        _ text: SecretBytes?, _ authority: Authority, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> [UInt8]? {
        let text = text.map { String(decoding: $0.reveal(), as: UTF8.self) }
        guard let cookie = text.flatMap({ Base64URL.decode($0) }), cookie.count == Self.count
        else { return nil }
        let head = Array(cookie.prefix(Self.headCount))
        let expected = SecretBytes(try proof(of: head, authority))
        guard expected.matches(SecretBytes(cookie.dropFirst(Self.headCount))) else { return nil }
        let madeAt = Timestamp(shortBytes: head.prefix(Timestamp.shortCount))
        let age = now - madeAt
        guard age >= .zero, age < Self.life else { return nil }
        let challenge = try challenge(of: cookie, authority)
        let isNew = try transaction.spend(
            hash: challenge, until: madeAt + Self.life + Self.margin)
        return isNew ? challenge : nil
    }

    private func proof(
        of head: [UInt8], _ authority: Authority
    ) throws(AuthorityError) -> [UInt8] {
        let label = "postern/v1 passkey visit \(purpose.rawValue) \(session?.description ?? "-") "
        return try authority.hash(of: SecretBytes(Array(label.utf8) + head))
    }
}
