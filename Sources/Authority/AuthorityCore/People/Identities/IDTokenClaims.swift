package import Sessions
import Wire

/// The claims of an id token, and the check that they are for this authority and valid now.
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
    package let nonce: String?
    /// When the person last showed the provider who they are.
    package let authenticatedAt: Timestamp?

    /// How long after its expiry a token is still accepted, because it was on its way or the local
    /// clock is ahead.
    package static let leeway = Duration.seconds(300)
    /// How far the provider's clock may be ahead of the local clock.
    package static let ahead = Duration.seconds(60)
    /// The maximum age of a token, whatever its expiry says. Used tokens are stored for that long.
    /// Source: OpenID Connect Core §3.1.3.7, 10.
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
            nonce = json.members["nonce"]?.asString
            authenticatedAt = json.members["auth_time"].flatMap(Self.time)
        } catch {
            throw .malformed
        }
        guard issuedAt < expiresAt else { throw .malformed }
        // Source: OpenID Connect Core §2 (`sub`: at most 255 ASCII characters).
        guard (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw .noSubject }
    }

    /// Throws unless the token is from this provider, for this authority, and valid at `now`.
    ///
    /// If the token has several audiences, its authorized party (`azp`) must be this authority. If
    /// this authority is the only audience, the party may be another one, such as the provider's
    /// name for our phone app.
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

    /// The latest time at which `judge` may accept the token.
    package var lastUse: Timestamp {
        min(expiresAt + Self.leeway, issuedAt + Self.longest)
    }

    /// One string, or a list of 1 to 32 strings. Source: RFC 7519 §4.1.3.
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
