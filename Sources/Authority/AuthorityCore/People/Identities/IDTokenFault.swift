/// Why an id token says nothing to us. None of its words holds anything that it said.
package enum IDTokenFault: Error, Equatable, Sendable, CaseIterable {
    case malformed
    /// Its header asks for another algorithm than its key has, or for something unknown.
    case wrongKind
    case unknownKey
    case forged
    case otherIssuer
    case otherAudience
    case expired
    case notYet
    case tooOld
    case noSubject
    /// The client said another `id` beside it.
    case otherPerson
    case spent
    /// It is good; nobody has that identity, and nobody new is let in, or its user is disabled.
    case nobody

    package var words: String {
        switch self {
        case .malformed: "it is malformed"
        case .wrongKind: "its header does not fit its key"
        case .unknownKey: "the provider has no such key"
        case .forged: "its signature is wrong"
        case .otherIssuer: "another issuer made it"
        case .otherAudience: "it is for another audience"
        case .expired: "it has expired"
        case .notYet: "its time has not come"
        case .tooOld: "it was made more than a day ago"
        case .noSubject: "it names nobody"
        case .otherPerson: "the id beside it is another's"
        case .spent: "it has served already; get another one"
        case .nobody: "nobody who may log in here is that person"
        }
    }
}
