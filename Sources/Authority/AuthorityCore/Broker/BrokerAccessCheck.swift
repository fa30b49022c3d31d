import Sessions

/// Answers a broker that asks about each of its clients.
package protocol BrokerAccessCheck: Sendable {
    /// The present account with this user name. Nil if there is none.
    func account(named username: String) async throws(AuthorityError) -> BrokerAccount?
    /// Counts a request with a wrong secret. Throws 155 after 100 from one address (for IPv6, one
    /// /64) in five minutes, and then stops counting. A correct secret is not counted.
    func countStranger(from origin: String) async throws(AuthorityError)
}

/// Decides about logins of boards, of readers and of the authority itself.
package struct StoreAccessCheck: BrokerAccessCheck {
    private let authority: Authority
    /// The accounts that belong to no session.
    private let own: [BrokerAccount]

    package init(authority: Authority, own: [BrokerAccount]) {
        self.authority = authority
        self.own = own
    }

    package func account(
        named username: String
    ) async throws(AuthorityError) -> BrokerAccount? {
        if let account = own.first(where: { $0.username == username }) { return account }
        return try await authority.brokerAccount(named: username)
    }

    package func countStranger(from origin: String) async throws(AuthorityError) {
        try await authority.countStranger(from: origin)
    }
}

extension Authority {
    /// Reads the store once. Its passwords are random, so they are not hashed.
    func brokerAccount(
        named username: String
    ) async throws(AuthorityError) -> BrokerAccount? {
        let root = info.topicRoot
        if let board = InstallationID(username) {
            let login = try await brokerLogin(of: board)
            return login.map { BrokerAccount(board: board, login: $0, root: root) }
        }
        guard let reader = BrokerReader(username: username),
            let desired = try await desiredState(for: reader)
        else { return nil }
        // A broker that asks may not check what it delivers to an existing subscription.
        return BrokerAccount(reader: desired, root: root, checksDeliveries: false)
    }

    func countStranger(from origin: String) async throws(AuthorityError) {
        let key = "broker secret \(CountedOrigin(origin))"
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            if let wait = try wait(key, atMost: LoginLimit.address, transaction, at: now) {
                throw .refused(.tooMany("tries", wait: wait))
            }
            try transaction.countFailure(key, at: now)
        }
    }
}
