public import Foundation

/// Whether there is a session to work with.
public enum SessionAvailability: Equatable, Sendable {
    /// There is one. `validatedAt` is when the authority last answered to it.
    case available(SessionDetails, validatedAt: Date)
    case unavailable(SessionUnavailability)
}

/// Why there is no session to work with.
public enum SessionUnavailability: Equatable, Sendable {
    /// Nobody has logged in yet, or somebody logged out.
    case loggedOut
    /// The authority said 209: it ended or expired. It is cleared; log in again.
    case ended
    /// A session was stored and cannot be read. It is set aside; log in again.
    case unreadable(StorageError)
    /// The storage does not answer, such as a locked keychain. Nothing is cleared; restore again.
    case storageAway(StorageError)
    /// The authority does not answer, or not as it should. Nothing is cleared, and the session
    /// comes back by itself.
    case authorityAway(SessionError)
}
