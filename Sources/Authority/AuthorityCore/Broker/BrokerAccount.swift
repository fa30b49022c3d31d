package import Sessions
package import Wire

/// A client at the broker, as that is to know it.
package struct BrokerAccount: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The one client id that may use it; nil any, for the authority's own alone. Whoever may
    /// use any could take a board's, and the broker would cut off the board for it.
    package let clientID: String?
    package let role: BrokerRole
    /// Whose client it is, see `mark`; nil for the authority's own, which nobody removes.
    package var owner: String?

    package init(
        username: String, password: SecretBytes, clientID: String?, role: BrokerRole,
        owner: String? = nil
    ) {
        self.username = username
        self.password = password
        self.clientID = clientID
        self.role = role
        self.owner = owner
    }

    package init(board: InstallationID, login: BoardWish.Login, root: TopicRoot) {
        self.init(
            username: board.description, password: login.password,
            clientID: Self.clientID(of: board.description),
            role: BrokerRole(
                board: board, root: root, data: login.mayPublishData,
                extraTopics: login.extraTopics ?? []),
            owner: Self.mark(root))
    }

    package init(person wish: PersonWish, root: TopicRoot) {
        self.init(
            username: wish.username, password: wish.password,
            clientID: Self.clientID(of: wish.username),
            role: BrokerRole(person: wish.username, filters: wish.filters),
            owner: Self.mark(root))
    }

    /// What marks a client as made by an authority of this topic root. Several may share a
    /// broker, and each leaves alone what is not its own.
    package static func mark(_ root: TopicRoot) -> String { "postern \(root)" }

    /// The client id of a board or a person's program.
    /// Source: the wire contract, Broker passwords.
    package static func clientID(of username: String) -> String { "postern-\(username)" }

    /// Whether a client that shows this password may log in under this client id. The time
    /// tells nothing of the password but its length.
    package func admits(_ password: SecretBytes, clientID: String) -> Bool {
        let isRight = self.password.matches(password)
        return isRight && !clientID.isEmpty && isUsed(by: clientID)
    }

    /// Whether a client of this id can have logged in by it.
    package func isUsed(by clientID: String) -> Bool {
        self.clientID.map { $0 == clientID } ?? true
    }
}
