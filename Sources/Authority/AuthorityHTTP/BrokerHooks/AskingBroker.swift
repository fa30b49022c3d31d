package import AuthorityCore
package import Sessions

/// How brokers that ask about each of their clients are answered.
package struct AskingBroker: Sendable {
    let door: any BrokerDoor
    private let secret: SecretBytes
    /// RabbitMQ's, in which boards and programs live; what is asked of others is denied.
    let virtualHost: String

    /// `secret` is what a broker shows: in the path where it can send nothing else, in the
    /// `Authorization` header where it can.
    package init(door: any BrokerDoor, secret: SecretBytes, virtualHost: String = "/") {
        self.door = door
        self.secret = secret
        self.virtualHost = virtualHost
    }

    /// Whether the caller is our broker; one that is not is counted by its address.
    func knows(_ shown: String?, from origin: String) async throws(AuthorityError) -> Bool {
        if let shown, secret.matches(SecretBytes(Array(shown.utf8))) { return true }
        try await door.countStranger(from: origin)
        return false
    }
}

/// What a broker asks; each has its own words for the same questions.
enum BrokerInquiry: Sendable {
    /// Whether a client may come in.
    case login(clientID: String, password: SecretBytes)
    /// Whether a client that came in may do all of these. Without a client id the broker did
    /// not say which it is.
    case acts([BrokerAct], clientID: String?)
}

extension AskingBroker {
    /// One read of the store. What is malformed, unknown or not for this client is refused
    /// alike.
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
