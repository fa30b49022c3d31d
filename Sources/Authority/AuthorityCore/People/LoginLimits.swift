import Sessions

/// How often a wrong password may be tried, and how many sessions that gives.
enum LoginLimit {
    static let window = Duration.seconds(300)
    /// For one name from one address.
    static let each = 10
    /// For all names from one address.
    static let address = 100
    /// Live logins of one person.
    static let logins = 32
    /// Live sessions that one person made for devices that are on no board.
    static let devices = 256
}

/// Under what a try is counted. An address is counted as `CountedOrigin` has it.
struct LoginKeys: Sendable {
    let name: Username?
    let each: String
    let address: String

    init(name: Username?, origin: String) {
        self.name = name
        let origin = CountedOrigin(origin)
        each = "login \(name?.description.lowercased() ?? "?") \(origin)"
        address = "login * \(origin)"
    }

    init(anonymousFrom origin: String) {
        name = nil
        let origin = CountedOrigin(origin)
        each = "anonymous \(origin)"
        address = "login * \(origin)"
    }

    /// The tokens of one provider from one address.
    init(provider: LoginProvider, origin: String) {
        name = nil
        let origin = CountedOrigin(origin)
        each = "identity \(provider) \(origin)"
        address = "login * \(origin)"
    }
}

extension Authority {
    /// Counts a try before what it shows is looked at, so that many at once count too.
    func count(
        _ keys: LoginKeys, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let since = now - LoginLimit.window
        guard try transaction.failures(keys.each, since: since) < LoginLimit.each,
            try transaction.failures(keys.address, since: since) < LoginLimit.address
        else {
            throw .refuse(.rateLimit, "too many tries; wait five minutes")
        }
        try transaction.countFailure(keys.each, at: now)
        try transaction.countFailure(keys.address, at: now)
    }

    /// A try that was right is no failure, of the name or of the address: a house where many
    /// log in is not locked out for it.
    func uncount(
        _ keys: LoginKeys, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        try transaction.clearFailures(keys.each)
        try transaction.forgiveFailure(keys.address)
    }

    /// The user whose password this is. The answer and the time it takes are the same for a
    /// wrong one, for nobody's, and for a user who is disabled.
    func authenticate(
        _ password: SecretBytes, _ keys: LoginKeys, from origin: String
    ) async throws(AuthorityError) -> UserRecord {
        let began = clock()
        let found = try await store.transact { transaction throws(AuthorityError) in
            try count(keys, transaction, at: began)
            return try keys.name.flatMap { name throws(AuthorityError) in
                try transaction.user(named: name.description)
            }
        }
        let isRight = try await cryptography.verifyPassword(
            password, against: found?.passwordHash)
        guard let found, isRight, found.isEnabled else {
            let now = clock()
            try await store.transact { transaction throws(AuthorityError) in
                try audit(
                    "login.failed", keys.name?.description ?? "unknown", nil, nil, origin,
                    transaction, at: now)
            }
            throw .loginFailed
        }
        return found
    }
}

extension AuthorityError {
    static let loginFailed = refuse(.notFound, "invalid username or password")
}
