package import Sessions
package import Wire

/// Claims a board by a short code: the board shows it, a person types it at the page, and the board
/// confirms that person. Only then does its claim secret leave the board.
///
/// Source: the wire contract, The short code.
package protocol ClaimCodeFrontend {
    /// Makes a code that lives for ten minutes. 155 if there are too many, in all or from this
    /// address. A code that claimed its board does not count.
    func openClaimCode(_ order: ClaimCodeOrder) async throws(AuthorityError) -> OpenClaimCode
    /// What happened to the code of a board. 101 if it is over; 119 if somebody refused it.
    func claimCodeState(_ code: DeviceCode) async throws(AuthorityError) -> ClaimCodeState
    /// Claims the board for the person who typed its code, as that person chose. A repeated call
    /// gets the same claim, 119 if that ended since. A refusal ends the code.
    func confirmClaimCode(
        _ code: DeviceCode, _ secret: SecretBytes
    ) async throws(AuthorityError) -> Claim
    /// Ends a code, whether somebody typed it or not.
    func refuseClaimCode(_ code: DeviceCode) async throws(AuthorityError)

    /// The board that shows this code. 101 if there is none, or if another person typed it first;
    /// 155 for too many wrong codes of this user or from this address, but not for a code that
    /// this user has. The two calls below have the same rule.
    func claimCode(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView
    /// Asks the board to confirm this person. The first person who does has the code. The same
    /// call again changes nothing.
    func nameClaimCode(
        _ typed: TypedCode, _ terms: ClaimTerms, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView
    /// What the board answered to this person.
    func claimCodeProgress(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeProgress
}

/// A board that wants a code. All of it is public, and nothing of it is proven.
package struct ClaimCodeOrder: Sendable {
    package let installation: InstallationID
    /// The board's raw X25519 public key, 32 bytes.
    package let deviceKey: [UInt8]
    /// As in the claim URL; may be empty.
    package let name: String
    /// The board's address, for the limits.
    package let origin: String

    /// Nil if the key or the name does not have the form that it has in a claim URL.
    package init?(
        installation: InstallationID, deviceKey: [UInt8], name: String, origin: String
    ) {
        guard deviceKey.count == 32, ClaimURL.shown(name) == name else { return nil }
        self.installation = installation
        self.deviceKey = deviceKey
        self.name = name
        self.origin = origin
    }
}

/// What the board gets.
package struct OpenClaimCode: Sendable {
    package let secret: DeviceCode
    package let code: UserCode
    package let life: Duration
    /// How long the board waits before it asks again.
    package let interval: Duration

    package init(secret: DeviceCode, code: UserCode, life: Duration, interval: Duration) {
        self.secret = secret
        self.code = code
        self.life = life
        self.interval = interval
    }
}

/// The state of a code, for its board.
package enum ClaimCodeState: Equatable, Sendable {
    case waiting
    /// A user of this authority typed the code.
    case named(username: String, authority: String)
    case claimed
}

/// A board as the person sees it who typed its code.
package struct ClaimCodeView: Equatable, Sendable {
    package let code: UserCode
    package let installation: InstallationID
    /// The board's own name for itself; may be empty.
    package let boardName: String
    /// Of the board's key.
    package let fingerprint: BoardFingerprint
    package let endsAt: Timestamp

    package init(
        code: UserCode, installation: InstallationID, boardName: String,
        fingerprint: BoardFingerprint, endsAt: Timestamp
    ) {
        self.code = code
        self.installation = installation
        self.boardName = boardName
        self.fingerprint = fingerprint
        self.endsAt = endsAt
    }
}

/// The state of a code, for the person who typed it.
package enum ClaimCodeProgress: Equatable, Sendable {
    /// The person may still decide.
    case waiting
    /// The board asks whether this is the right person.
    case named
    /// The board confirmed, and has this claim.
    case claimed(Claim)
    /// The board did not confirm, or the claim was refused after it had.
    case refused
}
