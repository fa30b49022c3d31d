package import Sessions
import Wire

/// Logs people in and out, and checks their tokens.
extension Authority {
    package func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn {
        let keys = LoginKeys(
            name: attempt.isByEmail ? nil : Username(attempt.username),
            email: EmailAddress(attempt.username), origin: attempt.origin)
        let found = try await authenticate(attempt.password, keys, from: attempt.origin)
        let renewed = try await renewed(found.passwordHash, of: attempt.password)
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            guard let user = try transaction.user(found.objectID), user.isEnabled,
                user.passwordHash == found.passwordHash
            else { throw .loginFailed }
            try uncount(keys, transaction)
            if let renewed { try transaction.setPasswordHash(renewed, of: user.objectID) }
            let opening = SessionOpening(
                authority: self, transaction: transaction, user: user, now: now)
            return try opening.login(
                CreatedWith(.login, by: .password), on: attempt.installation,
                from: attempt.origin)
        }
    }

    /// The addresses of logins in the last 30 days, the most recent last. Reads at most the last
    /// 20,000 audit entries about logins.
    package func loginOrigins() async throws(AuthorityError) -> [String] {
        var query = AuditQuery(limit: 1000)
        query.event = CreatedWith.Action.login.rawValue
        query.since = clock() - .seconds(30 * 86_400)
        var origins: [String] = []
        var seen: Set<String> = []
        for _ in 0..<20 {
            let entries = try await store.read { [query] transaction throws(AuthorityError) in
                try transaction.entries(query)
            }
            // Failed logins have a longer event name with the same prefix.
            for entry in entries where entry.event == query.event {
                if seen.insert(entry.detail).inserted { origins.append(entry.detail) }
            }
            guard entries.count == query.limit, let last = entries.last else { break }
            query.before = last.number
        }
        return origins.reversed()
    }

    /// A new hash of the password at the present cost. Nil if `hash` already has that cost.
    private func renewed(
        _ hash: String?, of password: SecretBytes
    ) async throws(AuthorityError) -> String? {
        guard let hash, cryptography.isOutdated(passwordHash: hash) else { return nil }
        return try await cryptography.hashPassword(password)
    }

    package func holder(of token: SessionToken) async throws(AuthorityError) -> TokenHolder {
        let now = clock()
        let hash = try hash(of: token.secret)
        let found = try await store.glance { transaction throws(AuthorityError) in
            try transaction.held(tokenHash: hash)
        }
        guard let found else { return .nobody(.unknownToken) }
        // A board's token is valid only on its own outbox.
        guard found.session.isOffBoard else { return .nobody(.boardToken) }
        guard found.mayAsk(at: now, under: rules.lifetimes) else { return .nobody(nil) }
        if now - found.session.lastSeen > .seconds(30) {
            try await noteUse(of: found.session.id, at: now)
        }
        return .caller(Caller(user: found.user.view, session: found.session.session))
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
                actor: act.user.username, endNotice: nil, act.transaction, at: act.now)
        }
    }

    package func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin {
        let access = try consumerAccess()
        let fresh = Base64URL.encode(try cryptography.random(32))
        let (login, granted) = try await act(.brokerLogin, by: caller) {
            act throws(AuthorityError) in
            let id = act.session.id
            let login = try act.transaction.personLogin(id) ?? PersonLogin(
                session: id, user: act.user.objectID, password: SecretBytes(Array(fresh.utf8)))
            try act.transaction.save(login)
            try act.transaction.add(.reader(login.reader, mayDoLess: false))
            return (login, try filters(of: act.user, act.transaction))
        }
        try await worker.settle(login.reader.line)
        let username = login.reader.username
        return BrokerLogin(
            uri: access.uri, clientID: BrokerAccount.clientID(of: username), username: username,
            password: login.password, ca: access.ca, filters: granted,
            fingerprint: access.fingerprint)
    }
}
