/// The state of the session that the board's apps see.
package enum SessionState: Equatable, Sendable {
    case available
    case unavailable(UnavailableReason)
}

/// Why there is no usable session. The raw values are the contract's.
package enum UnavailableReason: String, Sendable, CaseIterable {
    case unclaimed
    case expired
    case revoked
    case signedOut = "signed-out"
    case reuse
    case unreadable
    case offline

    /// The error code of a write while the session is unavailable for this reason.
    package var code: ErrorCode {
        switch self {
        case .unclaimed: .sessionMissing
        case .expired, .revoked, .signedOut, .reuse, .unreadable, .offline: .invalidSession
        }
    }
}
