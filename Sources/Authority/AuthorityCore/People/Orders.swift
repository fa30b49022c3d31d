package import Sessions
package import Wire

// The types of people's requests.

/// A login with a password.
package struct LoginAttempt: Sendable {
    /// The user's name or, if no user has that name, e-mail address.
    package let username: String
    /// Whether `username` can only be an e-mail address.
    package let isByEmail: Bool
    package let password: SecretBytes
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String
    /// The installation where the person logs in. An earlier session of the same person with the
    /// same installation ends.
    package let installation: InstallationID?

    package init(
        username: String, isByEmail: Bool = false, password: SecretBytes, origin: String,
        installation: InstallationID? = nil
    ) {
        self.isByEmail = isByEmail
        self.installation = installation
        self.username = username
        self.password = password
        self.origin = origin
    }
}

/// A user to add.
package struct NewUser: Sendable {
    package let username: String
    package let password: SecretBytes
    package let isAdministrator: Bool
    package let mayClaim: Bool
    package let profile: ProfileChange

    package init(
        username: String, password: SecretBytes, isAdministrator: Bool, mayClaim: Bool,
        profile: ProfileChange = ProfileChange()
    ) {
        self.profile = profile
        self.username = username
        self.password = password
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
    }
}

/// The changes that an administrator makes to a user. Nil: no change.
package struct UserChange: Equatable, Sendable {
    package let isEnabled: Bool?
    package let mayClaim: Bool?

    package init(isEnabled: Bool? = nil, mayClaim: Bool? = nil) {
        self.isEnabled = isEnabled
        self.mayClaim = mayClaim
    }
}

/// A request to sign up, or to log in with an identity.
package struct SignUp: Sendable {
    package enum Credential: Sendable {
        case password(username: String, SecretBytes)
        /// Parse's `authData.anonymous.id`. The same id is always the same user.
        case anonymous(id: SecretBytes)
        /// An id token of a provider. It logs in the user who has that identity.
        case identity(IdentityProof)
    }

    package let credential: Credential
    /// What else the request says of the user. An anonymous id or an identity that is known logs in
    /// its user, who gets it, too.
    package let profile: ProfileChange
    package let installation: InstallationID?
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(
        credential: Credential, profile: ProfileChange = ProfileChange(),
        installation: InstallationID?, origin: String
    ) {
        self.profile = profile
        self.credential = credential
        self.installation = installation
        self.origin = origin
    }
}

/// A new password for a user.
package struct PasswordChange: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The old password. Nil: the caller is an administrator, has just logged in, or has no
    /// password yet.
    package let old: SecretBytes?
    package let keepsBoards: Bool
    /// The peer's address, for the rate limit.
    package let origin: String

    package init(
        username: String, password: SecretBytes, old: SecretBytes?, keepsBoards: Bool,
        origin: String
    ) {
        self.username = username
        self.password = password
        self.old = old
        self.keepsBoards = keepsBoards
        self.origin = origin
    }
}

/// The session fields that a client may set. The authority sets all others.
package struct SessionDraft: Sendable {
    package let installation: InstallationID?
    /// Custom members. The reader has already left out read-only ones.
    package let custom: [String: JSONValue]

    package init(installation: InstallationID?, custom: [String: JSONValue]) {
        self.installation = installation
        self.custom = custom
    }
}

/// A request to claim one board.
package struct ClaimOrder: Sendable {
    package let url: ClaimURL
    package let terms: ClaimTerms
    /// Tokens from elsewhere, to use instead of new ones.
    package let imported: ImportedTokens?

    package init(url: ClaimURL, terms: ClaimTerms, imported: ImportedTokens? = nil) {
        self.url = url
        self.terms = terms
        self.imported = imported
    }

    package init(
        url: ClaimURL, duration: Duration?, scope: ScopeDocument?,
        custom: [String: JSONValue] = [:], imported: ImportedTokens? = nil
    ) {
        self.init(
            url: url, terms: ClaimTerms(duration: duration, scope: scope, custom: custom),
            imported: imported)
    }
}

/// What the claimant chooses.
package struct ClaimTerms: Sendable {
    /// Nil: the authority's own limit.
    package let duration: Duration?
    package let scope: ScopeDocument?
    /// Custom fields of the session.
    package let custom: [String: JSONValue]

    package init(duration: Duration?, scope: ScopeDocument?, custom: [String: JSONValue] = [:]) {
        self.duration = duration
        self.scope = scope
        self.custom = custom
    }
}

/// The tokens of a session that another program made or received.
package struct ImportedTokens: Sendable {
    package let session: SessionToken
    package let access: AccessToken?

    package init(session: SessionToken, access: AccessToken?) {
        self.session = session
        self.access = access
    }
}
