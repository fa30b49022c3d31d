package import Sessions
import Wire

/// How often a wrong password may be tried.
enum LoginLimit {
    static let window = Duration.seconds(300)
    /// For one name from one address.
    static let each = 10
    /// For all names from one address.
    static let address = 100
    /// Live logins of one person.
    static let logins = 32
}

/// People's sessions.
extension Authority {
    package func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn {
        let name = Username(attempt.username)
        let keys = LoginKeys(name: name, origin: attempt.origin)
        let found = try await admit(attempt, keys)
        let isRight = try await cryptography.verifyPassword(
            attempt.password, against: found?.passwordHash)
        let now = clock()
        guard let found, isRight else {
            try await store.transact { transaction throws(AuthorityError) in
                try audit(
                    "login.failed", name?.description ?? "unknown", nil, nil, attempt.origin,
                    transaction, at: now)
            }
            throw .refuse(.notFound, "invalid username or password")
        }
        return try await open(for: found, keys, from: attempt.origin, at: now)
    }

    /// Counts the try before its password is looked at, so that many at once count too.
    private func admit(
        _ attempt: LoginAttempt, _ keys: LoginKeys
    ) async throws(AuthorityError) -> UserRecord? {
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            let since = now - LoginLimit.window
            guard try transaction.failures(keys.each, since: since) < LoginLimit.each,
                try transaction.failures(keys.address, since: since) < LoginLimit.address
            else {
                throw .refuse(.rateLimit, "too many tries; wait five minutes")
            }
            try transaction.countFailure(keys.each, at: now)
            try transaction.countFailure(keys.address, at: now)
            guard let name = keys.name else { return nil }
            return try transaction.user(named: name.description)
        }
    }

    private func open(
        for user: UserRecord, _ keys: LoginKeys, from origin: String, at now: Timestamp
    ) async throws(AuthorityError) -> LoggedIn {
        let token = try newSessionToken()
        let session = Session(
            objectID: try newObjectID(), user: user.objectID, restricted: false,
            createdWith: CreatedWith(action: "login", authProvider: "password"),
            installationID: nil, createdAt: now, expiresAt: now + rules.lifetimes.absolute)
        let record = SessionRecord(
            session: session, state: .active, tokenHash: try hash(of: token.secret),
            family: nil, deviceKey: nil, scope: nil,
            absoluteLimit: now + rules.lifetimes.absolute, lastSeen: now)
        try await store.transact { transaction throws(AuthorityError) in
            guard try transaction.user(user.objectID)?.passwordHash == user.passwordHash else {
                throw .refuse(.notFound, "invalid username or password")
            }
            try transaction.clearFailures(keys.each)
            try transaction.save(record, at: now)
            try endSurplusLogins(of: user, transaction, at: now)
            try audit("login", user.username, nil, session.objectID, origin, transaction, at: now)
        }
        return LoggedIn(token: token, session: session, user: user.view)
    }

    /// A person has at most so many logins; the oldest end. So a password change finds them
    /// all, and none is buried under others.
    private func endSurplusLogins(
        of user: UserRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let logins = try transaction.sessions(of: user.objectID).filter {
            $0.state == .active && !$0.session.restricted
        }
        for record in logins.dropFirst(LoginLimit.logins) {
            try end(
                record, reason: "too many logins", actor: user.username, farewell: nil,
                transaction, at: now)
        }
    }

    package func caller(_ token: SessionToken) async throws(AuthorityError) -> Caller {
        let now = clock()
        let hash = try hash(of: token.secret)
        let (record, user) = try await store.read { transaction throws(AuthorityError) in
            // A board's token counts on its own outbox only.
            guard let record = try transaction.session(tokenHash: hash),
                !record.session.restricted, record.isLive(at: now, under: rules.lifetimes),
                let user = try transaction.user(record.session.user)
            else { throw .sessionOver }
            return (record, user)
        }
        if now - record.lastSeen > .seconds(30) { try await noteUse(of: record.id, at: now) }
        return Caller(user: user.view, session: record.session)
    }

    private func noteUse(of session: ObjectID, at now: Timestamp) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            guard var record = try transaction.session(session), record.state == .active else {
                return
            }
            record.lastSeen = now
            try transaction.save(record, at: now)
        }
    }

    package func logout(_ caller: Caller) async throws(AuthorityError) {
        let now = clock()
        let id = caller.session.objectID
        try await store.transact { transaction throws(AuthorityError) in
            guard let record = try transaction.session(id), record.state == .active else {
                return
            }
            try end(
                record, reason: UnavailableReason.signedOut.rawValue,
                actor: caller.user.username, farewell: nil, transaction, at: now)
        }
        courier.nudge(id.description)
    }

    package func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin {
        guard let access = courier.consumerAccess else {
            throw .refuse(
                .forbidden, "this authority gives no logins to its broker (access = \"none\")")
        }
        try requireUnrestricted(caller)
        let id = caller.session.objectID
        let fresh = Base64URL.encode(try cryptography.random(32))
        let (login, granted) = try await store.transact { transaction throws(AuthorityError) in
            guard let session = try transaction.session(id), session.state == .active,
                let user = try transaction.user(session.session.user)
            else { throw .sessionOver }
            let login = try transaction.personLogin(id) ?? PersonLogin(
                session: id, user: user.objectID, password: SecretBytes(Array(fresh.utf8)))
            try transaction.save(login)
            try transaction.add(.person(id))
            return (login, try filters(of: user, transaction))
        }
        try await courier.settle(id.description)
        return BrokerLogin(
            uri: access.uri, clientID: "postern-\(login.username)", username: login.username,
            password: login.password, ca: access.ca, filters: granted)
    }
}

private struct LoginKeys: Sendable {
    let name: Username?
    let each: String
    let address: String

    init(name: Username?, origin: String) {
        self.name = name
        let origin = String(origin.prefix(64))
        each = "login \(name?.description.lowercased() ?? "?") \(origin)"
        address = "login * \(origin)"
    }
}
