import Sessions
import Wire

/// Signs people up, if the configuration allows it.
extension Authority {
    package func signUp(_ attempt: SignUp) async throws(AuthorityError) -> LoggedIn {
        switch attempt.credential {
        case .password(let name, let password):
            try requireOpenDoor()
            guard rules.takesPasswords else { throw .passwordsOff }
            return try await signUp(name, password, attempt)
        case .anonymous(let id):
            try requireOpenDoor()
            return try await signUpAnonymously(id, attempt)
        case .identity(let proof):
            return try await enter(proof, attempt)
        }
    }

    private func requireOpenDoor() throws(AuthorityError) {
        guard rules.letsPeopleSignUp else {
            throw .refuse(
                .forbidden, "sign-up is closed here; ask an administrator for an account")
        }
    }

    private func signUp(
        _ name: String, _ password: SecretBytes, _ attempt: SignUp
    ) async throws(AuthorityError) -> LoggedIn {
        let username = try Self.newName(name)
        try Self.requireUsable(password)
        try attempt.profile.requireForm()
        let keys = LoginKeys(name: username, origin: attempt.origin)
        try await countApart(keys)
        let hash = try await cryptography.hashPassword(password)
        let user = UserRecord(
            objectID: try newUserID(), username: username.description, passwordHash: hash,
            isAdministrator: false, mayClaim: false, createdAt: clock())
        return try await transactAndTell { transaction throws(AuthorityError) in
            try admit(user, by: .password, keys, attempt, transaction)
        }
    }

    /// Creates an anonymous user. A known id is a login of the same user.
    private func signUpAnonymously(
        _ id: SecretBytes, _ attempt: SignUp
    ) async throws(AuthorityError) -> LoggedIn {
        guard (16...256).contains(id.count) else {
            throw .refuse(.validation, "an anonymous id has 16 to 256 bytes")
        }
        let keys = LoginKeys(anonymousFrom: attempt.origin)
        try await countApart(keys)
        let hash = try anonymousHash(of: id)
        let new = try newUserID()
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            guard let known = try transaction.user(anonymousHash: hash) else {
                let user = UserRecord(
                    objectID: new, username: "anonymous-\(new)", passwordHash: nil,
                    anonymousHash: hash, isAdministrator: false, mayClaim: false, createdAt: now)
                return try admit(user, by: .anonymous, keys, attempt, transaction)
            }
            guard known.isEnabled else { throw .loginFailed }
            try transaction.clearFailures(keys.each)
            let user = try keep(attempt.profile, of: known, transaction, at: now)
            return try SessionOpening(
                authority: self, transaction: transaction, user: user, now: now
            ).login(
                CreatedWith(.login, by: .anonymous), on: attempt.installation,
                from: attempt.origin)
        }
    }

    func anonymousHash(of id: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try hash(of: SecretBytes(Array("anonymous ".utf8) + id.reveal()))
    }

    private func admit(
        _ new: UserRecord, by provider: CreatedWith.Provider, _ keys: LoginKeys,
        _ attempt: SignUp, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> LoggedIn {
        let user = try applied(attempt.profile, to: new, transaction, at: new.createdAt)
        guard try transaction.insert(user) else { throw Self.nameTaken }
        try transaction.clearFailures(keys.each)
        return try SessionOpening(
            authority: self, transaction: transaction, user: user, now: user.createdAt
        ).login(
            CreatedWith(.signup, by: provider), on: attempt.installation,
            from: attempt.origin)
    }

    /// Counts a try in its own transaction, so that a try that fails later still counts.
    func countApart(_ keys: LoginKeys) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try count(keys, transaction, at: now)
        }
    }
}
