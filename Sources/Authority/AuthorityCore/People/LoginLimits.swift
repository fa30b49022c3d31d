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

/// The user that a login names, and the keys under which the try is counted. Addresses have the
/// form of `CountedOrigin`, without spaces. So what a person types cannot make another key.
struct LoginKeys: Sendable {
    let name: Username?
    /// Finds the user if no user has that name.
    let email: EmailAddress?
    let each: String
    let address: String

    init(name: Username?, email: EmailAddress? = nil, origin: String) {
        self.name = name
        self.email = email
        let origin = CountedOrigin(origin)
        each = "login \(origin) \(name?.key ?? email?.key ?? "")"
        address = Self.address(origin)
    }

    init(anonymousFrom origin: String) {
        self.init(each: "anonymous", CountedOrigin(origin))
    }

    /// Counts the tokens of one provider from one address.
    init(provider: LoginProvider, origin: String) {
        self.init(each: "identity \(provider)", CountedOrigin(origin))
    }

    /// Counts the passkeys from one address.
    init(passkeysFrom origin: String) {
        self.init(each: "passkey", CountedOrigin(origin))
    }

    private init(each: String, _ origin: CountedOrigin) {
        name = nil
        email = nil
        self.each = "\(each) \(origin)"
        address = Self.address(origin)
    }

    private static func address(_ origin: CountedOrigin) -> String { "logins \(origin)" }

    func user(_ transaction: any AuthorityTransaction) throws(AuthorityError) -> UserRecord? {
        if let name, let found = try transaction.user(named: name.description) { return found }
        return try email.flatMap { email throws(AuthorityError) in
            try transaction.user(email: email)
        }
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
        guard rules.takesPasswords else { throw .passwordsOff }
        let began = clock()
        let found = try await store.transact { transaction throws(AuthorityError) in
            try count(keys, transaction, at: began)
            return try keys.user(transaction)
        }
        let isRight = try await cryptography.verifyPassword(
            password, against: found?.passwordHash)
        guard let found, isRight, found.isEnabled else {
            let now = clock()
            try await store.transact { transaction throws(AuthorityError) in
                let typed = keys.name?.description ?? keys.email?.description ?? "unknown"
                try audit("login.failed", typed, nil, nil, origin, transaction, at: now)
            }
            throw .loginFailed
        }
        return found
    }
}

extension AuthorityError {
    static let loginFailed = refuse(.notFound, "Invalid username/password.")
}
