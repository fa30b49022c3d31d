import Sessions

/// Limits for login tries and for the number of sessions.
enum LoginLimit {
    static let window = Duration.seconds(300)
    /// Tries for one name from one address.
    static let each = 10
    /// Tries for all names from one address.
    static let address = 100
    /// Live logins of one person.
    static let logins = 32
    /// Live sessions of one person for devices that are no boards.
    static let devices = 256
}

/// The keys under which a try is counted. Addresses have the form of `CountedOrigin`.
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

    /// Counts the tokens of one provider from one address.
    init(provider: LoginProvider, origin: String) {
        name = nil
        let origin = CountedOrigin(origin)
        each = "identity \(provider) \(origin)"
        address = "login * \(origin)"
    }
}

extension Authority {
    /// Counts a try before its secret is checked, so that parallel tries count, too. Throws 155 if
    /// there were too many.
    func count(
        _ keys: LoginKeys, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let waits = [
            try wait(keys.each, atMost: LoginLimit.each, transaction, at: now),
            try wait(keys.address, atMost: LoginLimit.address, transaction, at: now),
        ]
        if let wait = waits.compactMap(\.self).max() {
            throw .refused(.tooMany("tries", wait: wait))
        }
        try transaction.countFailure(keys.each, at: now)
        try transaction.countFailure(keys.address, at: now)
    }

    /// How long until fewer than `limit` tries of the window are counted under `key`. Nil: now.
    func wait(
        _ key: String, atMost limit: Int, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> Duration? {
        try transaction.failure(key, skipping: limit - 1, since: now - LoginLimit.window)
            .map { $0 + LoginLimit.window - now }
    }

    /// After a successful try, clears the failures of the name and takes the try off the address's
    /// count. So many people may log in from one address.
    func uncount(
        _ keys: LoginKeys, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        try transaction.clearFailures(keys.each)
        try transaction.forgiveFailure(keys.address)
    }

    /// The user with this password. The answer and its time are the same for a wrong password, an
    /// unknown user and a disabled user.
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
