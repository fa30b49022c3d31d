package import Sessions

/// A user in the store: a person or a program.
package struct UserRecord: Sendable {
    package let objectID: UserID
    package let username: String
    /// A PHC string, which does not reveal the password. Nil: no password is accepted.
    package var passwordHash: String?
    /// HMAC of the secret that identifies an anonymous user.
    package let anonymousHash: [UInt8]?
    package var isAdministrator: Bool
    package var mayClaim: Bool
    package let createdAt: Timestamp
    /// False: the user cannot log in and has no live session.
    package var isEnabled: Bool

    package init(
        objectID: UserID, username: String, passwordHash: String?,
        anonymousHash: [UInt8]? = nil, isAdministrator: Bool, mayClaim: Bool,
        createdAt: Timestamp, isEnabled: Bool = true
    ) {
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
            mayClaim: mayClaim, createdAt: createdAt, isEnabled: isEnabled)
    }

    package var profile: UserProfile { UserProfile(objectID: objectID, username: username) }
}

/// A login name: 1 to 64 of `[A-Za-z0-9._@-]`, the first a letter or digit.
///
/// So names use only ASCII characters, and no name can be mistaken for a topic or an option.
package struct Username: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count), let first = bytes.first,
            Self.isAlphanumeric(first),
            bytes.allSatisfy({ Self.isAlphanumeric($0) || "._@-".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
