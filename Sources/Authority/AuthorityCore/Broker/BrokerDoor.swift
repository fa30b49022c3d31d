import Sessions

/// What a broker that asks about each of its clients is answered from.
package protocol BrokerDoor: Sendable {
    /// The client of this user name as the store has it at this moment; nil for nobody's.
    func account(named username: String) async throws(AuthorityError) -> BrokerAccount?
    /// Counts somebody who asked with a wrong secret. After 100 from one address (of IPv6 one
    /// /64) in five minutes it throws (155) and counts no more. A right secret is not
    /// counted.
    func countStranger(from origin: String) async throws(AuthorityError)
}

/// The door of an authority that decides who gets in: boards, people's programs, and its own.
package struct StoreDoor: BrokerDoor {
    private let authority: Authority
    /// Those that no session made.
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
    /// One read of the store; its passwords are random, so none is hashed.
    func brokerAccount(
        named username: String
    ) async throws(AuthorityError) -> BrokerAccount? {
        let root = info.topicRoot
        if let board = InstallationID(username) {
            let login = try await brokerLogin(of: board)
            return login.map { BrokerAccount(board: board, login: $0, root: root) }
        }
        guard username.hasPrefix(PersonLogin.prefix),
            let session = ObjectID(String(username.dropFirst(PersonLogin.prefix.count))),
            let wish = try await wish(forPerson: session), wish.username == username
        else { return nil }
        return BrokerAccount(person: wish, root: root)
    }

    func countStranger(from origin: String) async throws(AuthorityError) {
        let key = "broker secret \(CountedOrigin(origin))"
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            let since = now - LoginLimit.window
            guard try transaction.failures(key, since: since) < LoginLimit.address else {
                throw .refuse(.rateLimit, "too many tries; wait five minutes")
            }
            try transaction.countFailure(key, at: now)
        }
    }
}
