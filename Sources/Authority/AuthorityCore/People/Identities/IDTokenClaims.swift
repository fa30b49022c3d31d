package import Sessions
import Wire

/// What an id token says, and whether it says it to us and now.
///
/// Source: OpenID Connect Core §2; RFC 7519 §4.1.
package struct IDTokenClaims: Equatable, Sendable {
    package let issuer: String
    package let subject: String
    package let audiences: [String]
    package let party: String?
    package let expiresAt: Timestamp
    package let issuedAt: Timestamp
    package let notBefore: Timestamp?

    /// How long after its end a token may still come: it was on its way, or our clock is ahead.
    package static let leeway = Duration.seconds(300)
    /// How far ahead of our clock the provider's may be.
    package static let ahead = Duration.seconds(60)
    /// A token serves no longer than this after it was made, whatever it says itself: used
    /// ones are remembered that long. Source: OpenID Connect Core §3.1.3.7, 10.
    package static let longest = Duration.seconds(86_400)

    package init(parsing bytes: [UInt8]) throws(IDTokenFault) {
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes, limit: IDToken.limit)
            issuer = try json.string("iss")
            subject = try json.string("sub")
            audiences = try json.required("aud", Self.audiences)
            party = try json.optional("azp") { $0.asString }
            expiresAt = try json.required("exp", Self.time)
            issuedAt = try json.required("iat", Self.time)
            notBefore = try json.optional("nbf", Self.time)
        } catch {
            throw .malformed
        }
        guard issuedAt < expiresAt else { throw .malformed }
        // Source: OpenID Connect Core §2 (`sub`: at most 255 ASCII characters).
        guard (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw .noSubject }
    }

    /// Throws unless the token is of this provider, for us, and in its time.
    ///
    /// Where it is for several, the party that it was made for must be us. Where it is for us
    /// alone that party may be another, such as the provider's name of our own phone app.
    /// Source: OpenID Connect Core §3.1.3.7, 2 to 5, 9 and 10; RFC 7519 §4.1.4 and §4.1.5.
    package func judge(
        by provider: IdentityProvider, at now: Timestamp
    ) throws(IDTokenFault) {
        guard issuer == provider.issuer else { throw .otherIssuer }
        guard audiences.contains(where: provider.audiences.contains) else {
            throw .otherAudience
        }
        if audiences.count > 1 {
            guard let party, provider.audiences.contains(party) else { throw .otherAudience }
        }
        guard now < expiresAt + Self.leeway else { throw .expired }
        guard max(issuedAt, notBefore ?? issuedAt) <= now + Self.ahead else { throw .notYet }
        guard now - issuedAt < Self.longest else { throw .tooOld }
    }

    /// Until when `judge` may still find it good.
    package var lastUse: Timestamp {
        min(expiresAt + Self.leeway, issuedAt + Self.longest)
    }

    /// One text, or a list of 1 to 32. Source: RFC 7519 §4.1.3.
    private static func audiences(_ value: JSONValue) -> [String]? {
        if let text = value.asString { return [text] }
        guard let values = value.asArray, (1...32).contains(values.count) else { return nil }
        let texts = values.compactMap(\.asString)
        return texts.count == values.count ? texts : nil
    }

    /// A NumericDate, which may have a fraction. Source: RFC 7519 §2.
    private static func time(_ value: JSONValue) -> Timestamp? {
        switch value {
        case .integer(let seconds): Timestamp(seconds: seconds)
        case .number(let seconds):
            Int64(exactly: seconds.rounded(.down)).flatMap(Timestamp.init(seconds:))
        default: nil
        }
    }
}
