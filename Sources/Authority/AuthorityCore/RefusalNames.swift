package import Sessions

/// Names that a page looks up to show what a person can do next. A name never changes; new names
/// may be added.
extension Refusal.Name {
    package static let claimUsed = Self("claim-used")
    package static let claimOpen = Self("claim-open")
    package static let claimOtherAuthority = Self("claim-other-authority")
    package static let boardHasAnotherKey = Self("board-has-another-key")
    package static let boardOwned = Self("board-owned")
    package static let mayNotClaim = Self("may-not-claim")
    package static let claimMalformed = Self("claim-malformed")
    package static let durationOutOfRange = Self("duration-out-of-range")
    package static let brokerAway = Self("broker-away")
    package static let storeAway = Self("store-away")
    package static let overloaded = Self("overloaded")
}

extension Refusal {
    /// The same refusal with a name.
    package func named(_ name: Name) -> Refusal {
        ErrorCode(rawValue: code).map { Refusal($0, text, name: name) } ?? self
    }

    /// The refusal for a session that is too short or too long.
    package static let durationOutOfRange = Refusal(
        .validation, "a session lasts from 5 minutes to 1 year", name: .durationOutOfRange)
}
