/// Why a login by a provider's button failed, by the name that the page knows. It holds no text
/// from the provider.
package enum ProviderProblem: String, Error, Equatable, Sendable, CaseIterable {
    /// The person, or the provider, said no.
    case denied
    /// The provider wants something from the person first.
    case unfinished
    /// The provider is overloaded or has failed.
    case busy
    /// The provider refused our request, or answered with an error that is not known.
    case refused
    /// The answer does not belong to this visit, or comes too late or again.
    case visit
    /// Another provider answered, or the answer does not say which one did.
    case issuer
    /// The provider did not take the code.
    case code
    /// The id token is not accepted.
    case token
    /// No user has this identity, and it makes none.
    case nobody
    /// Too many tries.
    case often
    /// The provider cannot be reached.
    case away
    /// The authority itself failed.
    case failed

    /// The problem that an `error` of an authorization response names.
    ///
    /// Source: RFC 6749 §4.1.2.1; OpenID Connect Core §3.1.2.6.
    package init(errorCode: String) {
        switch errorCode {
        case "access_denied": self = .denied
        case "login_required", "interaction_required", "consent_required",
            "account_selection_required":
            self = .unfinished
        case "server_error", "temporarily_unavailable": self = .busy
        default: self = .refused
        }
    }

    init(_ fault: IDTokenFault) { self = fault == .nobody ? .nobody : .token }

    /// For the audit log.
    var words: String {
        switch self {
        case .denied: "access was denied there"
        case .unfinished: "the login there was not finished"
        case .busy: "the provider has failed, or is overloaded"
        case .refused: "the provider refused the request"
        case .visit: "the answer belongs to another visit, is late, or came again"
        case .issuer: "the answer does not come from this provider"
        case .code: "the provider did not take the code"
        case .token: "the id token is not accepted"
        case .nobody: IDTokenFault.nobody.words
        case .often: "too many tries"
        case .away: "the provider cannot be reached"
        case .failed: "the authority failed"
        }
    }
}
