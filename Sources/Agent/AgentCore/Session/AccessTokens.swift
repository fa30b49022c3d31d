import Sessions
import Wire

/// Why an access token is not accepted.
private enum TokenFault {
    /// The token names a key that is not pinned.
    case unknownKey
    /// The token has no valid signature, or belongs to another issuer, board, session or user.
    case foreign
    /// The token has ended or has not begun, by the authority's own time.
    case untimely
}

/// The outcomes of the last refreshes.
struct RefreshedTokens: Sendable {
    /// A token whose key is not pinned. It is verified again when new keys arrive, so that it
    /// needs no second rotation.
    private(set) var unverified: AccessToken?
    /// How many refreshes in a row have returned a token that is not valid.
    private(set) var badRefreshes = 0
    /// The earliest time of the next refresh. Nil: no refresh was answered yet.
    private(set) var refreshNotBefore: Duration?
    /// Whether the agent has requested the authority's keys, because a token could not be
    /// verified.
    private var hasAskedForKeys = false

    mutating func accepted(at now: Duration) {
        hasAskedForKeys = false
        badRefreshes = 0
        refreshNotBefore = now + .seconds(5)
    }

    /// Delays the next refresh by one minute, then two, up to an hour: an authority that signs
    /// badly must not be overloaded.
    mutating func rejected(at now: Duration) {
        let wait = min(Duration.seconds(60) * (1 << min(badRefreshes, 6)), .seconds(3600))
        badRefreshes += 1
        refreshNotBefore = now + wait
    }

    mutating func keepUnverified(_ token: AccessToken) { unverified = token }

    mutating func forgetUnverified() { unverified = nil }

    mutating func takeUnverified() -> AccessToken? {
        defer { unverified = nil }
        return unverified
    }

    /// Whether to ask the authority for its keys. It is asked once.
    /// Source: the wire contract, The access token.
    mutating func asksForKeys() -> Bool {
        defer { hasAskedForKeys = true }
        return !hasAskedForKeys
    }
}

extension Agent {
    /// Accepts the access token from a refresh if it is valid. The old refresh token is spent in
    /// any case. `now`: nil if no clock can be trusted.
    mutating func take(
        _ token: AccessToken, into held: inout HeldSession, under trust: Trust,
        now: Timestamp?, at instant: Instant
    ) {
        requests.tokens.forgetUnverified()
        guard let fault = fault(of: token, held.session, under: trust, now: now) else {
            return adopt(token, into: &held, at: instant)
        }
        requests.tokens.rejected(at: instant.monotonic)
        switch fault {
        case .untimely:
            emit(.log(.warning, "the access token from a refresh is not valid now"))
            return
        case .unknownKey: requests.tokens.keepUnverified(token)
        case .foreign: break
        }
        emit(.log(.warning, "the access token from a refresh does not verify"))
        if requests.tokens.asksForKeys() { requests.setHeartbeat(due: instant.monotonic) }
    }

    /// Verifies a token again whose key was unknown, with the keys that arrived since.
    mutating func verifyAgain(
        _ held: inout HeldSession, under trust: Trust, now: Timestamp?, at instant: Instant
    ) {
        guard let token = requests.tokens.takeUnverified() else { return }
        if fault(of: token, held.session, under: trust, now: now) == nil {
            adopt(token, into: &held, at: instant)
        }
    }

    private mutating func adopt(
        _ token: AccessToken, into held: inout HeldSession, at instant: Instant
    ) {
        held.tokens.access = token
        requests.tokens.accepted(at: instant.monotonic)
    }

    private func fault(
        of token: AccessToken, _ session: Session, under trust: Trust, now: Timestamp?
    ) -> TokenFault? {
        let claims: AccessTokenClaims
        do throws(CryptographyFailure) {
            claims = try cryptography.verify(token, keys: trust.authority.signKeys)
        } catch {
            return error == .unknownKey ? .unknownKey : .foreign
        }
        guard fits(claims, session), claims.issuer == trust.issuer else { return .foreign }
        guard let now else { return nil }
        return claims.isTimely(at: now) ? nil : .untimely
    }
}
