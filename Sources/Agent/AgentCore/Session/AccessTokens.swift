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

extension Agent {
    /// Accepts the access token from a refresh if it is valid. The old refresh token is spent in
    /// any case. `now`: nil if no clock can be trusted.
    mutating func take(
        _ token: AccessToken, into held: inout HeldSession, under trust: Trust,
        now: Timestamp?, at instant: Instant
    ) {
        requests.unverified = nil
        guard let fault = fault(of: token, held.session, under: trust, now: now) else {
            return adopt(token, into: &held, at: instant)
        }
        // Wait one minute, then two, up to an hour: an authority that signs badly must not be
        // overloaded.
        let wait = min(Duration.seconds(60) * (1 << min(requests.badRefreshes, 6)), .seconds(3600))
        requests.badRefreshes += 1
        requests.refreshNotBefore = instant.monotonic + wait
        switch fault {
        case .untimely:
            emit(.log(.warning, "the access token that a refresh brought is not in force"))
            return
        case .unknownKey: requests.unverified = token
        case .foreign: break
        }
        emit(.log(.warning, "the access token that a refresh brought does not verify"))
        // Source: the wire contract, The access token: the authority is asked once.
        guard !requests.hasAskedForKeys else { return }
        requests.hasAskedForKeys = true
        requests.heartbeatAt = instant.monotonic
    }

    /// Verifies a token again whose key was unknown, with the keys that arrived since.
    mutating func verifyAgain(
        _ held: inout HeldSession, under trust: Trust, now: Timestamp?, at instant: Instant
    ) {
        guard let token = requests.unverified else { return }
        requests.unverified = nil
        if fault(of: token, held.session, under: trust, now: now) == nil {
            adopt(token, into: &held, at: instant)
        }
    }

    private mutating func adopt(
        _ token: AccessToken, into held: inout HeldSession, at instant: Instant
    ) {
        held.tokens.access = token
        requests.hasAskedForKeys = false
        requests.badRefreshes = 0
        requests.refreshNotBefore = instant.monotonic + .seconds(5)
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
