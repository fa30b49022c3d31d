import Sessions

/// The session tokens that one authority makes. They are opaque to all others. To the authority a
/// token proves when it was made, even if the store does not know it (any more, or yet).
///
/// `r:` + b64(creation, 6 bytes of milliseconds big-endian ‖ 18 random bytes ‖ the first 8 bytes of
/// HMAC-SHA256(server key, a label ‖ the 24 bytes before)).
///
/// The 144 random bits make a token hard to guess. Nobody can compute them, not even from the
/// server's keys. The store keeps a hash of the whole text. The last 64 bits protect no session: a
/// correct guess only changes the answer from 209 to "not issued here". So 64 bits are enough.
/// Source: RFC 2104 §5, truncated output.
struct SessionTokenFormat {
    let cryptography: any AuthorityCryptography
    let key: SecretBytes

    static let randomCount = 18
    private static let proofCount = 8
    /// No other text under this key begins like this: the others begin with a token's prefix, or
    /// are 32 bytes long.
    private static let label = Array("postern/v1 made session token ".utf8)

    /// `random` has `randomCount` bytes.
    func token(madeAt time: Timestamp, random: [UInt8]) throws(AuthorityError) -> SessionToken {
        let body = time.shortBytes + random
        let text = SessionToken.prefix + Base64URL.encode(body + (try proof(of: body)))
        return SessionToken(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// When this authority made a token. Nil if it did not make it.
    func creation(of token: SessionToken) throws(AuthorityError) -> Timestamp? {
        let text = token.reveal().dropFirst(SessionToken.prefix.count)
        let bodyCount = Timestamp.shortCount + Self.randomCount
        guard let bytes = Base64URL.decode(text), bytes.count == bodyCount + Self.proofCount
        else { return nil }
        let expected = SecretBytes(try proof(of: Array(bytes[..<bodyCount])))
        guard expected.matches(SecretBytes(bytes[bodyCount...])) else { return nil }
        return Timestamp(shortBytes: bytes[..<Timestamp.shortCount])
    }

    private func proof(of body: [UInt8]) throws(AuthorityError) -> [UInt8] {
        Array(try cryptography.hmac(Self.label + body, key: key).prefix(Self.proofCount))
    }
}

/// A time as 48 bits of milliseconds, big-endian, as in a UUID of version 7. It is enough until the
/// year 10889. A time before 1970 becomes 1970. Source: RFC 9562 §5.7.
extension Timestamp {
    static let shortCount = 6

    var shortBytes: [UInt8] {
        let value = min(max(milliseconds, 0), 1 << 48 - 1)
        return stride(from: 40, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> $0)
        }
    }

    /// `bytes` has `shortCount` bytes.
    init(shortBytes bytes: some Sequence<UInt8>) {
        self.init(milliseconds: bytes.reduce(0) { $0 << 8 | Int64($1) })
    }
}
