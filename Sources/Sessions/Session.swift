/// A session as the contract shows it: everything about it but its tokens.
package struct Session: Equatable, Sendable {
    package let objectID: ObjectID
    /// The user's `objectId`.
    package let user: UserID
    /// True for each session that was made for a device.
    package let restricted: Bool
    package let createdWith: CreatedWith
    package let installationID: InstallationID?
    package let createdAt: Timestamp
    /// Nil: it never expires.
    package var expiresAt: Timestamp?
    /// Further members, kept as they came.
    package var custom: [String: JSONValue]

    package init(
        objectID: ObjectID, user: UserID, restricted: Bool, createdWith: CreatedWith,
        installationID: InstallationID?, createdAt: Timestamp, expiresAt: Timestamp?,
        custom: [String: JSONValue] = [:]
    ) {
        self.objectID = objectID
        self.user = user
        self.restricted = restricted
        self.createdWith = createdWith
        self.installationID = installationID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.custom = custom
    }
}

/// How a session came to be. Source: Parse REST guide, Sessions.
package struct CreatedWith: Equatable, Sendable {
    /// `create`, `login`, `signup` or `upgrade`.
    package let action: String
    /// `password`, `anonymous` or a login provider's name.
    package let authProvider: String

    package init(action: String, authProvider: String) {
        self.action = action
        self.authProvider = authProvider
    }
}

/// A user as boards may know it: no password, no token.
package struct UserProfile: Equatable, Sendable {
    package let objectID: UserID
    package let username: String
    /// Further members, kept as they came.
    package let custom: [String: JSONValue]

    package init(objectID: UserID, username: String, custom: [String: JSONValue] = [:]) {
        self.objectID = objectID
        self.username = username
        self.custom = custom
    }
}
