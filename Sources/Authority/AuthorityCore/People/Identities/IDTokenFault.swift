/// Why an id token was refused. The texts contain nothing from the token.
package enum IDTokenFault: Error, Equatable, Sendable, CaseIterable {
    case malformed
    /// Its header does not fit: another algorithm than its key has, a wrong type, or an unknown
    /// extension.
    case wrongKind
    case unknownKey
    case forged
    case otherIssuer
    case otherAudience
    case expired
    case notYet
    case tooOld
    case noSubject
    /// The client sent another `id` with the token.
    case otherPerson
    case spent
    /// It was not made for the login that this browser began.
    case otherVisit
    /// The token is valid, but the user with that identity is disabled, or no user has it and
    /// sign-up with it is not allowed.
    case nobody

    package var words: String {
        switch self {
        case .malformed: "it is malformed"
        case .wrongKind: "its header does not match its key"
        case .unknownKey: "the provider has no such key"
        case .forged: "its signature is wrong"
        case .otherIssuer: "another issuer made it"
        case .otherAudience: "it is for another audience"
        case .expired: "it has expired"
        case .notYet: "it is not valid yet"
        case .tooOld: "it was made more than a day ago"
        case .noSubject: "it has no subject"
        case .otherPerson: "the id sent with it is another person's"
        case .spent: "it was used already; get a new one"
        case .otherVisit: "it was made for another login"
        case .nobody: "no user who may log in here has this identity"
        }
    }
}
