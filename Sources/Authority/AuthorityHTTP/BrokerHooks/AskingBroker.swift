package import AuthorityCore
package import Sessions

/// Answers brokers that ask about each of their clients.
package struct AskingBroker: Sendable {
    let door: any BrokerAccessCheck
    private let secret: SecretBytes
    /// RabbitMQ's virtual host of the boards and programs. Questions about other virtual hosts get
    /// a denial.
    let virtualHost: String

    /// `secret` is the secret that a broker sends: in the `Authorization` header or, if it cannot
    /// set headers, in the path.
    package init(door: any BrokerAccessCheck, secret: SecretBytes, virtualHost: String = "/") {
        self.door = door
        self.secret = secret
        self.virtualHost = virtualHost
    }

    /// Whether the caller is our broker. A wrong secret is counted by the caller's address.
    func knows(_ shown: String?, from origin: String) async throws(AuthorityError) -> Bool {
        if let shown, secret.matches(SecretBytes(Array(shown.utf8))) { return true }
        try await door.countStranger(from: origin)
        return false
    }
}

/// A broker's question, in one form for all kinds of brokers.
enum BrokerInquiry: Sendable {
    /// Whether a client may connect.
    case login(clientID: String, password: SecretBytes)
    /// Whether a connected client may do all of these acts. Without a client id the broker did not
    /// say which client it is.
    case acts([BrokerAction], clientID: String?)
}

extension AskingBroker {
    /// Decides with one read of the store. A malformed question, an unknown user and a forbidden
    /// act get the same answer.
    func permits(
        _ inquiry: BrokerInquiry?, to username: String?
    ) async throws(AuthorityError) -> Bool {
        guard let inquiry, let username, let account = try await door.account(named: username)
        else { return false }
        switch inquiry {
        case .login(let clientID, let password):
            return account.admits(password, clientID: clientID)
        case .acts(let acts, let clientID):
            return (clientID.map(account.isUsed) ?? true)
                && acts.allSatisfy(account.role.permits)
        }
    }
}
