package import Sessions
package import Wire

// What people ask for.

package struct LoginAttempt: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String
    /// Where the person logs in; a session of his that has the same one ends.
    package let installation: InstallationID?

    package init(
        username: String, password: SecretBytes, origin: String,
        installation: InstallationID? = nil
    ) {
        self.installation = installation
        self.username = username
        self.password = password
        self.origin = origin
    }
}

package struct NewUser: Sendable {
    package let username: String
    package let password: SecretBytes
    package let isAdministrator: Bool
    package let mayClaim: Bool

    package init(
        username: String, password: SecretBytes, isAdministrator: Bool, mayClaim: Bool
    ) {
        self.username = username
        self.password = password
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
    }
}

/// What an administrator changes of a user; nil stays as it is.
package struct UserChange: Equatable, Sendable {
    package let isEnabled: Bool?
    package let mayClaim: Bool?

    package init(isEnabled: Bool? = nil, mayClaim: Bool? = nil) {
        self.isEnabled = isEnabled
        self.mayClaim = mayClaim
    }
}

/// A person who wants to become a user.
package struct SignUp: Sendable {
    package enum Credential: Sendable {
        case password(username: String, SecretBytes)
        /// Parse's `authData.anonymous.id`: who comes again with it is the same user.
        case anonymous(id: SecretBytes)
        /// What another says of a person; it logs in whoever is known by it.
        case identity(IdentityProof)
    }

    package let credential: Credential
    package let installation: InstallationID?
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(credential: Credential, installation: InstallationID?, origin: String) {
        self.credential = credential
        self.installation = installation
        self.origin = origin
    }
}

package struct PasswordChange: Sendable {
    package let username: String
    package let password: SecretBytes
    /// Must be right where the caller changes his own; nil for an administrator's.
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

/// What a client may say of a session. Everything else about one is the authority's to say.
package struct SessionDraft: Sendable {
    package let installation: InstallationID?
    /// Members that are not the contract's; read-only ones were left out by the reader.
    package let custom: [String: JSONValue]

    package init(installation: InstallationID?, custom: [String: JSONValue]) {
        self.installation = installation
        self.custom = custom
    }
}

/// A person's wish to claim one board.
package struct ClaimOrder: Sendable {
    package let url: ClaimURL
    /// Nil: as long as the authority's own limit.
    package let duration: Duration?
    package let scope: ScopeDocument?
    /// Custom fields of the session.
    package let custom: [String: JSONValue]
    /// Tokens that were made elsewhere, to be provisioned instead of fresh ones.
    package let imported: ImportedTokens?

    package init(
        url: ClaimURL, duration: Duration?, scope: ScopeDocument?,
        custom: [String: JSONValue] = [:], imported: ImportedTokens? = nil
    ) {
        self.url = url
        self.duration = duration
        self.scope = scope
        self.custom = custom
        self.imported = imported
    }
}

/// A session's tokens as another program made or got them.
package struct ImportedTokens: Sendable {
    package let session: SessionToken
    package let access: AccessToken?

    package init(session: SessionToken, access: AccessToken?) {
        self.session = session
        self.access = access
    }
}
