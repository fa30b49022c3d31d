/// Why a passkey's answer is not accepted. The words are for people and the audit log.
package enum PasskeyFault: Error, Equatable, Sendable, CaseIterable {
    case malformed
    /// A registration in place of a login, or the reverse.
    case ceremony
    /// Not the challenge of this visit, or it is over or was used.
    case challenge
    case origin
    /// A page of another site showed ours in a frame.
    case embedded
    /// Made for another RP id.
    case site
    case presence
    case verification
    case flags
    case algorithm
    case attestation
    case signature
    case unknown
    case otherUser
    /// The counter did not grow: there may be a copy of the passkey.
    case cloned
    case known

    package var words: String {
        switch self {
        case .malformed: "the answer is malformed"
        case .ceremony: "the answer is for something else"
        case .challenge: "the challenge is over, was used, or is another visit's; try again"
        case .origin: "it was given to a page with another address"
        case .embedded: "it was given to a page inside another site's page"
        case .site: "it was made for another site"
        case .presence: "nobody touched the authenticator"
        case .verification: "the authenticator did not check who its user is"
        case .flags: "the authenticator contradicts itself about backups"
        case .algorithm: "its kind of key is not supported"
        case .attestation: "it has an attestation that nobody asked for"
        case .signature: "its signature is wrong"
        case .unknown: "no user here has it"
        case .otherUser: "it belongs to another user"
        case .cloned: "its counter did not grow, so there may be a copy of it"
        case .known: "it is registered already"
        }
    }
}
