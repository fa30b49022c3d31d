/// A session as the contract shows it: everything except its tokens.
package struct Session: Equatable, Sendable {
    package let objectID: ObjectID
    /// The user's `objectId`.
    package let user: UserID
    /// True for each session that was made for a device.
    package let restricted: Bool
    package let createdWith: CreatedWith
    /// Set once, never changed.
    package var installationID: InstallationID?
    package let createdAt: Timestamp
    /// Nil: it never expires.
    package var expiresAt: Timestamp?
    /// Further members, kept unchanged.
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

/// The part of a user that boards may know: no password, no token.
package struct UserProfile: Equatable, Sendable {
    package let objectID: UserID
    package let username: String
    /// Further members, kept unchanged.
    package let custom: [String: JSONValue]

    package init(objectID: UserID, username: String, custom: [String: JSONValue] = [:]) {
        self.objectID = objectID
        self.username = username
        self.custom = custom
    }
}
