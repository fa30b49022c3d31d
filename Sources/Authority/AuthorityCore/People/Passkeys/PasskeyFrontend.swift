package import Sessions
package import WebAuthn

/// Requests about passkeys, recovery codes and confirmations.
package protocol PasskeyFrontend {
    /// The ways to log in that the configuration allows.
    var loginWays: LoginWays { get }

    /// Begins a registration, a login or a confirmation. Only a login needs no caller.
    func passkeyOptions(
        _ purpose: PasskeyPurpose, by caller: Caller?
    ) async throws(AuthorityError) -> PasskeyOptions
    /// Opens an unrestricted session of the user who has the passkey. 101 if it is not accepted;
    /// 155 for too many tries. The same for a recovery code, which serves once.
    func login(_ attempt: PasskeyLogin) async throws(AuthorityError) -> LoggedIn
    func login(_ attempt: RecoveryLogin) async throws(AuthorityError) -> LoggedIn
    /// Confirms the caller for the next five minutes of the session.
    func confirm(_ order: ConfirmationOrder, by caller: Caller) async throws(AuthorityError)

    /// The caller's own passkeys and other ways to log in.
    func passkeys(by caller: Caller) async throws(AuthorityError) -> OwnLoginWays
    func addPasskey(_ order: PasskeyOrder, by caller: Caller) async throws(AuthorityError)
        -> PasskeyRecord
    /// One of the caller's own passkeys, otherwise 101. `removePasskey` has the same rule.
    func renamePasskey(
        _ id: ObjectID, to name: String, by caller: Caller
    ) async throws(AuthorityError) -> PasskeyRecord
    /// 142 if it is the caller's last way to log in.
    func removePasskey(_ id: ObjectID, by caller: Caller) async throws(AuthorityError)

    /// A code that logs the user in once: the caller, or any user for an administrator. An earlier
    /// code serves no more.
    func makeRecoveryCode(
        of username: String, by caller: Caller
    ) async throws(AuthorityError) -> RecoveryCode
}

/// The ways to log in that the configuration allows.
package struct LoginWays: Equatable, Sendable {
    package let takesPasswords: Bool
    package let site: RelyingParty
    /// The page's buttons for providers.
    package let providers: [ProviderButton]

    package init(takesPasswords: Bool, site: RelyingParty, providers: [ProviderButton] = []) {
        self.takesPasswords = takesPasswords
        self.site = site
        self.providers = providers
    }
}

/// What a passkey's challenge is for.
package enum PasskeyPurpose: String, Sendable, CaseIterable {
    case register, login, confirm
}

/// What a browser needs to ask an authenticator.
package struct PasskeyOptions: Sendable {
    package let purpose: PasskeyPurpose
    package let site: RelyingParty
    /// The authority's name.
    package let siteName: String
    package let challenge: [UInt8]
    /// The text of the cookie that binds the challenge to this visit.
    package let visit: SecretBytes
    /// Nil for a login.
    package let user: UserProfile?
    /// The user's credentials: not to be made again, or to confirm with. Empty for a login.
    package let credentials: [[UInt8]]

    /// How long the challenge lives.
    package var life: Duration { PasskeyVisit.life }
}

/// An answer of an authenticator with the cookie of its visit.
package struct PasskeyProof: Sendable {
    package let assertion: PasskeyAssertion
    /// Nil: the request had no such cookie.
    package let visit: SecretBytes?

    package init(_ assertion: PasskeyAssertion, visit: SecretBytes?) {
        self.assertion = assertion
        self.visit = visit
    }
}

package struct PasskeyLogin: Sendable {
    package let proof: PasskeyProof
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(_ proof: PasskeyProof, origin: String) {
        self.proof = proof
        self.origin = origin
    }
}

package struct RecoveryLogin: Sendable {
    package let username: String
    package let code: SecretBytes
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(username: String, code: SecretBytes, origin: String) {
        self.username = username
        self.code = code
        self.origin = origin
    }
}

package struct ConfirmationOrder: Sendable {
    package enum Proof: Sendable {
        case passkey(PasskeyProof)
        case password(SecretBytes)
    }

    package let proof: Proof
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(_ proof: Proof, origin: String) {
        self.proof = proof
        self.origin = origin
    }
}

/// A passkey to add.
package struct PasskeyOrder: Sendable {
    package let name: String
    package let registration: PasskeyRegistration
    /// Nil: the request had no such cookie.
    package let visit: SecretBytes?
    /// The peer's address, for the audit log.
    package let origin: String

    package init(
        name: String, registration: PasskeyRegistration, visit: SecretBytes?, origin: String
    ) {
        self.name = name
        self.registration = registration
        self.visit = visit
        self.origin = origin
    }
}

/// A user's own ways to log in at the page.
package struct OwnLoginWays: Sendable {
    package let passkeys: [PasskeyRecord]
    /// Whether the user has a password, and passwords are accepted.
    package let hasPassword: Bool
    /// The providers at which the user has an identity.
    package let providers: [LoginProvider]
    /// When the recovery code that still serves was made. Nil: there is none.
    package let recoveryCodeAt: Timestamp?

    package init(
        passkeys: [PasskeyRecord], hasPassword: Bool, providers: [LoginProvider] = [],
        recoveryCodeAt: Timestamp?
    ) {
        self.passkeys = passkeys
        self.hasPassword = hasPassword
        self.providers = providers
        self.recoveryCodeAt = recoveryCodeAt
    }
}
