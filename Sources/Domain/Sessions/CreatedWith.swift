/// How a session began. A peer may send values that are not listed here. Source: Parse REST guide,
/// Sessions.
package struct CreatedWith: Equatable, Sendable {
    package let action: String
    package let authProvider: String

    package init(action: String, authProvider: String) {
        self.action = action
        self.authProvider = authProvider
    }

    /// The values that Postern's own authority writes.
    package init(_ action: Action, by provider: Provider) {
        self.init(action: action.rawValue, authProvider: provider.rawValue)
    }

    package enum Action: String, Sendable, CaseIterable {
        /// A session for a device, created by a logged-in user.
        case create
        case login
        case signup
        /// A session that replaces another session of the same user.
        case upgrade
    }

    package enum Provider: String, Sendable, CaseIterable {
        case password
        /// The user has no username and no password.
        case anonymous
        case passkey
        /// A recovery code.
        case recovery
        /// A person allowed a program's login at the page.
        case browser
    }
}
