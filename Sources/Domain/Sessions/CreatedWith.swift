/// How a session came to be, as any peer may say it. Source: Parse REST guide, Sessions.
package struct CreatedWith: Equatable, Sendable {
    package let action: String
    package let authProvider: String

    package init(action: String, authProvider: String) {
        self.action = action
        self.authProvider = authProvider
    }

    /// What an authority of ours says.
    package init(_ action: Action, by provider: Provider) {
        self.init(action: action.rawValue, authProvider: provider.rawValue)
    }

    package enum Action: String, Sendable, CaseIterable {
        /// For a device, by somebody who is logged in.
        case create
        case login
        case signup
        /// In place of another session of the same person.
        case upgrade
    }

    package enum Provider: String, Sendable, CaseIterable {
        case password
        /// The user has no name of his own and no password.
        case anonymous
    }
}
