import Sessions

/// The session tokens that one authority makes: opaque to all others, and to itself a proof of
/// when it made one, also where its store no longer knows, or does not know yet, of it.
///
/// `r:` + b64(creation, 6 bytes of milliseconds big-endian ‖ 18 random bytes ‖ the first 8
/// bytes of HMAC-SHA256(server key, a label ‖ the 24 bytes before)).
///
/// What makes a token hard to guess is its 144 random bits, which nobody can compute, not even
/// from the server's keys; the store knows it by a hash of the whole text. The 64 bits at the end
/// guard no session: who guessed them would hear "not issued here" in place of 209. So they may
/// be few, and the random bits many. Source: RFC 2104 §5, truncated output.
struct SessionTokenFormat {
    let cryptography: any AuthorityCryptography
    let key: SecretBytes

    static let randomCount = 18
    private static let proofCount = 8
    /// No other text under this key begins so: those begin with a token's prefix, or are 32 bytes.
    private static let label = Array("postern/v1 made session token ".utf8)

    /// `random` has `randomCount` bytes.
    func token(madeAt time: Timestamp, random: [UInt8]) throws(AuthorityError) -> SessionToken {
        let body = time.shortBytes + random
        let text = SessionToken.prefix + Base64URL.encode(body + (try proof(of: body)))
        return SessionToken(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// When this authority made a token; nil for one that it did not make, or made before tokens
    /// had this form.
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

/// A time as 48 bits of milliseconds, big-endian, which last until the year 10889; one before 1970
/// is told as 1970. So it stands in a UUID of version 7, too. Source: RFC 9562 §5.7.
extension Timestamp {
    static let shortCount = 6

    var shortBytes: [UInt8] {
        let value = min(max(milliseconds, 0), 1 << 48 - 1)
        return stride(from: 40, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> $0)
        }
    }

    /// `bytes` are `shortCount`.
    init(shortBytes bytes: some Sequence<UInt8>) {
        self.init(milliseconds: bytes.reduce(0) { $0 << 8 | Int64($1) })
    }
}
