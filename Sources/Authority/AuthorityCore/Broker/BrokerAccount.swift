package import Sessions
package import Wire

/// A client that the broker should have.
package struct BrokerAccount: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The only client id that may use this account. Nil allows any id, only for the authority
    /// itself. An account that allows any id could use a board's id, and the broker would then
    /// disconnect that board.
    package let clientID: String?
    package let role: BrokerRole
    /// The authority that made the client, see `mark`. Nil for the authority's own client, which is
    /// never removed.
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

    package init(board: InstallationID, login: DesiredBoard.Login, root: TopicRoot) {
        self.init(
            username: board.description, password: login.password,
            clientID: Self.clientID(of: board.description),
            role: login.isPrepared
                ? BrokerRole(prepared: board, root: root)
                : BrokerRole(
                    board: board, root: root, data: login.mayPublishData,
                    extraTopics: login.extraTopics ?? []),
            owner: Self.mark(root))
    }

    /// `checksDeliveries`: the broker checks each message that it delivers, not only the
    /// subscription.
    package init(reader desired: DesiredReader, root: TopicRoot, checksDeliveries: Bool) {
        self.init(
            username: desired.username, password: desired.password,
            clientID: Self.clientID(of: desired.username),
            role: BrokerRole(
                reader: desired.username, filters: desired.filters,
                wide: checksDeliveries ? desired.wide : [],
                below: checksDeliveries ? desired.discovery : nil),
            owner: Self.mark(root))
    }

    /// The mark of clients that an authority of this topic root made. Several authorities may share
    /// a broker, and each changes only its own clients.
    package static func mark(_ root: TopicRoot) -> String { "postern \(root)" }

    /// The client id of a board or a reader.
    /// Source: the wire contract, Broker passwords.
    package static func clientID(of username: String) -> String { "postern-\(username)" }

    /// Whether a client with this password and client id may log in. The time taken reveals only
    /// the password's length.
    package func admits(_ password: SecretBytes, clientID: String) -> Bool {
        let isRight = self.password.matches(password)
        return isRight && !clientID.isEmpty && isUsed(by: clientID)
    }

    /// Whether a client with this id may use this account.
    package func isUsed(by clientID: String) -> Bool {
        self.clientID.map { $0 == clientID } ?? true
    }
}
