import Sessions

/// Whether a request needs a person who has just shown who they are.
enum ConfirmationNeed: Sendable {
    case none
    /// Asked of the page, where a person acts. A program acts for its user at any time.
    case atPage
    /// Asked of everybody: it would give a stolen session a lasting way in.
    case always
}

extension CallKind {
    var confirmation: ConfirmationNeed {
        switch self {
        case .release, .replace, .revoke, .revokeAll, .deleteData, .addUser, .makeConsumer,
            .invite, .prepareClaims: .atPage
        case .link, .unlink, .beginPasskey, .removePasskey, .makeRecoveryCode, .allowLogin:
            .always
        default: .none
        }
    }
}

extension SessionRecord {
    /// How long a confirmation lasts.
    static let confirmationLife = Duration.seconds(300)

    /// Whether its user showed a passkey, a password or a provider's identity in this session less
    /// than five minutes ago.
    func isConfirmed(at now: Timestamp) -> Bool {
        if let confirmedAt, Self.isFresh(confirmedAt, at: now) { return true }
        return isFreshLogin(at: now) && !isRecovered && !isOfProvider
    }

    /// Whether an identity of a provider opened it. Such a login confirms only if it is noted: a
    /// provider that knows the browser may have asked nobody.
    private var isOfProvider: Bool {
        CreatedWith.Provider(rawValue: session.createdWith.authProvider) == nil
    }

    /// Whether only the page can have opened the session. Its token proves a person at the page
    /// also where it comes in a header.
    var isOfPage: Bool {
        let provider = CreatedWith.Provider(rawValue: session.createdWith.authProvider)
        return provider == .passkey || provider == .recovery
    }

    /// Whether a recovery code opened the session.
    var isRecovered: Bool {
        session.createdWith.authProvider == CreatedWith.Provider.recovery.rawValue
    }

    /// Whether its user logged in less than five minutes ago. A session that another session made
    /// or allowed proves nothing.
    func isFreshLogin(at now: Timestamp) -> Bool {
        let action = CreatedWith.Action(rawValue: session.createdWith.action)
        return (action == .login || action == .signup)
            && session.createdWith.authProvider != CreatedWith.Provider.browser.rawValue
            && Self.isFresh(session.createdAt, at: now)
    }

    private static func isFresh(_ time: Timestamp, at now: Timestamp) -> Bool {
        let age = now - time
        return age >= .zero && age < confirmationLife
    }

    /// Throws if the request needs a confirmation that the session does not have. A person who just
    /// used a recovery code has nothing to confirm with, and may add a passkey. An anonymous user
    /// has nothing either, and links the first identity.
    func requireConfirmation(
        for deed: CallKind, of user: UserRecord, atPage: Bool, at now: Timestamp
    ) throws(AuthorityError) {
        switch deed.confirmation {
        case .none: return
        case .atPage: guard atPage else { return }
        case .always: break
        }
        if deed == .beginPasskey, isRecovered, isFreshLogin(at: now) { return }
        if deed == .link, user.passwordHash == nil, user.anonymousHash != nil { return }
        guard isConfirmed(at: now) else { throw .confirmationNeeded }
    }
}

extension Act {
    /// For what only some requests of a kind need.
    func requireConfirmationAtPage() throws(AuthorityError) {
        guard !isAtPage || session.isConfirmed(at: now) else { throw .confirmationNeeded }
    }
}

extension AuthorityError {
    static let confirmationNeeded = AuthorityError.refused(Refusal(
        .validation, "confirm with a passkey or your password, or log in again: the last "
            + "confirmation of this session is older than 5 minutes", name: .confirmationNeeded))
    static let passwordsOff = AuthorityError.refused(Refusal(
        .forbidden, "passwords are switched off here; log in with a passkey",
        name: .passwordsOff))
}
