package import Sessions
import Wire

/// People's sessions: how they begin with a proof of who somebody is, and how they are used.
extension Authority {
    package func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn {
        let keys = LoginKeys(name: Username(attempt.username), origin: attempt.origin)
        let found = try await authenticate(attempt.password, keys, from: attempt.origin)
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            guard let user = try transaction.user(found.objectID), user.isEnabled,
                user.passwordHash == found.passwordHash
            else { throw .loginFailed }
            try uncount(keys, transaction)
            let opening = SessionOpening(
                authority: self, transaction: transaction, user: user, now: now)
            return try opening.login(
                CreatedWith(.login, by: .password), on: attempt.installation,
                from: attempt.origin)
        }
    }

    package func caller(_ token: SessionToken) async throws(AuthorityError) -> Caller {
        let now = clock()
        let hash = try hash(of: token.secret)
        let (record, user) = try await store.read { transaction throws(AuthorityError) in
            // A board's token counts on its own outbox only.
            guard let record = try transaction.session(tokenHash: hash), record.isOffBoard,
                record.isLive(at: now, under: rules.lifetimes),
                let user = try transaction.user(record.session.user), user.isEnabled
            else { throw .sessionOver }
            return (record, user)
        }
        if now - record.lastSeen > .seconds(30) { try await noteUse(of: record.id, at: now) }
        return Caller(user: user.view, session: record.session)
    }

    private func noteUse(of session: ObjectID, at now: Timestamp) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            guard var record = try transaction.session(session),
                record.isLive(at: now, under: rules.lifetimes)
            else { return }
            record.lastSeen = max(now, record.lastSeen)
            try transaction.save(record, at: now)
        }
    }

    package func logout(_ caller: Caller) async throws(AuthorityError) {
        try await act(.logout, by: caller) { act throws(AuthorityError) in
            try end(
                act.session, reason: UnavailableReason.signedOut.rawValue,
                actor: act.user.username, farewell: nil, act.transaction, at: act.now)
        }
    }

    package func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin {
        guard let access = courier.consumerAccess else {
            throw .refuse(
                .forbidden, "this authority gives no logins to its broker (access = \"none\")")
        }
        let fresh = Base64URL.encode(try cryptography.random(32))
        let (login, granted) = try await act(.brokerLogin, by: caller) {
            act throws(AuthorityError) in
            let id = act.session.id
            let login = try act.transaction.personLogin(id) ?? PersonLogin(
                session: id, user: act.user.objectID, password: SecretBytes(Array(fresh.utf8)))
            try act.transaction.save(login)
            try act.transaction.add(.person(id, mayDoLess: false))
            return (login, try filters(of: act.user, act.transaction))
        }
        try await courier.settle(login.session.description)
        return BrokerLogin(
            uri: access.uri, clientID: "postern-\(login.username)", username: login.username,
            password: login.password, ca: access.ca, filters: granted)
    }
}
