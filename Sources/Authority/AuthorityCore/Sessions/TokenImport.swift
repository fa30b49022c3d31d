import Sessions
import Wire

/// The imported tokens of a claimant, checked.
struct CheckedImport {
    let session: SessionToken
    /// The session of the token. Nil if this authority does not know it.
    let known: SessionRecord?
    let access: ImportedAccess?

    var origin: TokenOrigin { known == nil ? .foreign : .known }
}

/// An access token that this authority signed, and the session that it names.
struct ImportedAccess {
    let token: AccessToken
    let session: ObjectID
}

/// Why an access token is invalid, before its claims are read.
package enum AccessTokenFault: Error, Equatable, Sendable {
    case malformed
    /// Its type is not `at+jwt`, or its algorithm is not EdDSA.
    case wrongKind
    case unknownKey
    case forged
}

/// Checks tokens that were made before this claim.
///
/// A session token that this authority does not know is accepted without a check: from now on it
/// names this session here. A known session token, and a signed access token, must belong to the
/// claimant and fit this board.
struct TokenImport {
    let act: Act
    let url: ClaimURL

    func judge(_ tokens: ImportedTokens) throws(AuthorityError) -> CheckedImport {
        let hash = try act.authority.hash(of: tokens.session.secret)
        let known = try act.transaction.held(tokenHash: hash)?.session
        if let known { try require(known) }
        let access = try tokens.access.map { token throws(AuthorityError) in
            try judge(token, of: known)
        }
        return CheckedImport(session: tokens.session, known: known, access: access)
    }

    /// Checks the owner first, so that nothing about another user's session is revealed.
    private func require(_ known: SessionRecord) throws(AuthorityError) {
        let session = known.session
        guard session.user == act.user.objectID else {
            throw .refuse(.forbidden, "this session token belongs to another user")
        }
        guard known.isLive(at: act.now, under: act.authority.rules.lifetimes) else {
            throw .refuse(.invalidSession, "the session of the imported token has ended")
        }
        guard session.restricted else {
            throw .refuse(.forbidden, "a board cannot get an unrestricted session")
        }
        guard known.isOffBoard, session.installationID ?? url.installation == url.installation
        else {
            throw .refuse(.forbidden, "this session belongs to another installation")
        }
    }

    private func judge(
        _ token: AccessToken, of known: SessionRecord?
    ) throws(AuthorityError) -> ImportedAccess {
        let claims = try verified(token)
        try require(claims)
        if let known {
            guard claims.session == known.id else {
                throw invalid("it names another session than the session token")
            }
        } else if try act.transaction.session(claims.session) != nil {
            throw invalid("its session is not that of the session token")
        }
        return ImportedAccess(token: token, session: claims.session)
    }

    private func verified(_ token: AccessToken) throws(AuthorityError) -> AccessTokenClaims {
        let authority = act.authority
        let bytes: [UInt8]
        do throws(AccessTokenFault) {
            bytes = try authority.cryptography.claims(
                of: token, signedBy: authority.keys.published)
        } catch {
            switch error {
            case .malformed: throw invalid("it is not a JWT")
            case .wrongKind: throw invalid("it is not of type at+jwt with EdDSA")
            case .unknownKey: throw invalid("its key does not belong to this authority")
            case .forged: throw invalid("its signature is wrong")
            }
        }
        do throws(WireError) {
            return try AccessTokenClaims(parsing: bytes)
        } catch .mistyped("aud") {
            throw invalid("its audience is not \(AccessTokenClaims.audience)")
        } catch {
            throw invalid("its claims are not those of an access token")
        }
    }

    private func require(_ claims: AccessTokenClaims) throws(AuthorityError) {
        let key = try act.authority.keyID(of: url.deviceKey)
        let faults = [
            (claims.issuer != act.authority.info.publicURL, "another authority issued it"),
            (claims.subject != act.user.objectID, "it belongs to another user"),
            (claims.installation != url.installation, "it belongs to another board"),
            (claims.deviceKey != key, "it is bound to another device key"),
            (!claims.restricted, "it is not restricted"),
            (max(claims.issuedAt, claims.notBefore) > act.now, "it is not valid yet"),
            (claims.expiresAt <= act.now, "it has expired"),
        ]
        if let fault = faults.first(where: { $0.0 }) { throw invalid(fault.1) }
    }

    private func invalid(_ why: String) -> AuthorityError {
        .refuse(.validation, "the access token cannot be validated here: \(why)")
    }
}
