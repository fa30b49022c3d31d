package import Sessions

/// A user in the store: a person or a program.
package struct UserRecord: Sendable {
    package let objectID: UserID
    package var username: String
    /// A PHC string, which does not reveal the password. Nil: no password is accepted.
    package var passwordHash: String?
    /// HMAC of the secret that identifies an anonymous user.
    package var anonymousHash: [UInt8]?
    package var isAdministrator: Bool
    package var mayClaim: Bool
    package let createdAt: Timestamp
    /// When the user, or an administrator, last changed it.
    package var updatedAt: Timestamp
    /// False: the user cannot log in and has no live session.
    package var isEnabled: Bool
    package var email: EmailAddress?
    /// The user's own fields.
    package var fields: [String: JSONValue]

    package init(
        objectID: UserID, username: String, passwordHash: String?,
        anonymousHash: [UInt8]? = nil, isAdministrator: Bool, mayClaim: Bool,
        createdAt: Timestamp, updatedAt: Timestamp? = nil, isEnabled: Bool = true,
        email: EmailAddress? = nil, fields: [String: JSONValue] = [:]
    ) {
        self.updatedAt = updatedAt ?? createdAt
        self.email = email
        self.fields = fields
        self.anonymousHash = anonymousHash
        self.isEnabled = isEnabled
        self.objectID = objectID
        self.username = username
        self.passwordHash = passwordHash
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
        self.createdAt = createdAt
    }

    package var view: UserView {
        UserView(
            objectID: objectID, username: username, isAdministrator: isAdministrator,
            mayClaim: mayClaim, createdAt: createdAt, updatedAt: updatedAt,
            isEnabled: isEnabled, email: email, fields: fields)
    }

    package var profile: UserProfile { UserProfile(objectID: objectID, username: username) }
}
