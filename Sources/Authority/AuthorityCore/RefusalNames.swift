package import Sessions

/// Names that a page looks up to show what a person can do next. A name never changes; new names
/// may be added.
extension Refusal.Name {
    package static let claimUsed = Self("claim-used")
    package static let claimUsedTwice = Self("claim-used-twice")
    package static let claimOpen = Self("claim-open")
    package static let noClaimCode = Self("no-claim-code")
    package static let claimOtherAuthority = Self("claim-other-authority")
    package static let boardReplaced = Self("board-replaced")
    package static let boardHasAnotherKey = Self("board-has-another-key")
    package static let boardOwned = Self("board-owned")
    package static let mayNotClaim = Self("may-not-claim")
    package static let claimMalformed = Self("claim-malformed")
    package static let durationOutOfRange = Self("duration-out-of-range")
    package static let notRenewable = Self("not-renewable")
    package static let wouldShorten = Self("would-shorten")
    package static let brokerAway = Self("broker-away")
    package static let storeAway = Self("store-away")
    package static let storeFull = Self("store-full")
    package static let overloaded = Self("overloaded")
    package static let noBrokerLogins = Self("no-broker-logins")
    package static let confirmationNeeded = Self("confirmation-needed")
    package static let passwordsOff = Self("passwords-off")
    package static let passkeysUnavailable = Self("passkeys-unavailable")
    package static let passkeyRefused = Self("passkey-refused")
    package static let lastWayIn = Self("last-way-in")
}

/// What a program does that waits for a login at the page. Source: RFC 8628 §3.5.
extension Refusal.Name {
    /// Nobody has decided yet: ask again after the interval.
    package static let authorizationPending = Self("authorization-pending")
    /// The same, and wait five seconds longer from now on.
    package static let slowDown = Self("slow-down")
    package static let accessDenied = Self("access-denied")
    /// The request is over, or its session was given out, or there never was one.
    package static let expiredToken = Self("expired-token")
}

extension Duration {
    /// In whole seconds.
    fileprivate var roundedUp: Duration {
        .seconds(components.seconds + (components.attoseconds > 0 ? 1 : 0))
    }
}

extension Refusal {
    /// The same refusal with a name.
    package func named(_ name: Name) -> Refusal {
        ErrorCode(rawValue: code).map { Refusal($0, text, name: name) } ?? self
    }

    /// 155 with the time after which there is room again.
    package static func tooMany(_ things: String, wait: Duration) -> Refusal {
        let wait = max(wait.roundedUp, .seconds(1))
        var refusal = Refusal(
            .rateLimit, "too many \(things); wait \(wait.components.seconds) s, then try again")
        refusal.retryAfter = wait
        return refusal
    }

    /// The refusal of a broker login where another system lets clients in.
    static let noBrokerLogins = Refusal(
        .forbidden, "this authority makes no broker logins: authority.toml has `access = \"none\"` "
            + "in [broker]", name: .noBrokerLogins)

    /// The refusal for a session that is too short or too long.
    package static let durationOutOfRange = Refusal(
        .validation, "a session lasts from 5 minutes to 1 year", name: .durationOutOfRange)
}
