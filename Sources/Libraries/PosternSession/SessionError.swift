/// Why a call failed, by the layer that failed. No text holds a password, a token or a claim.
public enum SessionError: Error, Equatable, Sendable {
    /// The address or an argument cannot be used.
    case invalid(String)
    /// No answer came: no network, no such host, refused, too slow.
    case transport(String)
    /// The authority's certificate was not accepted, or TLS failed otherwise.
    case tls(String)
    /// The authority answered, and said no.
    case refused(AuthorityRefusal)
    /// An answer of another form, or larger than the library reads.
    case malformedAnswer(String)
    /// The session could not be stored or read.
    case storage(StorageError)
    /// Nobody is logged in.
    case loggedOut
    /// The authority said 209: the session is over. The library has cleared it.
    case sessionOver
    /// The board has not accepted the claim.
    case claimEnded(ClaimEnd)
    /// The task that called was cancelled, or a login or logout came in between.
    case cancelled
}

/// An error as the authority sends it.
public struct AuthorityRefusal: Equatable, Sendable {
    /// The HTTP status.
    public let status: Int
    /// Parse's number, such as 101 for a wrong name or password; 0 if the answer had none.
    public let code: Int
    /// For people.
    public let text: String
    /// The name of the problem where it has one, such as `claim-used`.
    public let name: String?
}

/// How a claim ended without a session on the board.
public struct ClaimEnd: Equatable, Sendable {
    /// `rejected`, `expired` or `cancelled`.
    public let state: String
    /// The board's or the authority's number; nil if there is none.
    public let code: Int?
    /// For people; empty if nothing more is known.
    public let text: String
}

extension SessionError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalid(let text): text
        case .transport(let text): "no answer from the authority: \(text)"
        case .tls(let text): "TLS: \(text)"
        case .refused(let refusal): "the authority refuses (\(refusal.code)): \(refusal.text)"
        case .malformedAnswer(let text): "the authority's answer cannot be read: \(text)"
        case .storage(let error): "storage: \(error)"
        case .loggedOut: "nobody is logged in"
        case .sessionOver: "the session is over (209); log in again"
        case .claimEnded(let end):
            "the claim is \(end.state)" + (end.text.isEmpty ? "" : ": \(end.text)")
        case .cancelled: "cancelled"
        }
    }

    /// Whether the same call may succeed later, without a person doing anything.
    public var isTemporary: Bool {
        switch self {
        case .transport: true
        case .refused(let refusal): refusal.status == 429 || refusal.status >= 500
        default: false
        }
    }
}
