package import Sessions
import Wire

/// Logs users in with identities of other providers, and links and unlinks them.
extension Authority {
    package func identities(
        by caller: Caller
    ) async throws(AuthorityError) -> [IdentityRecord] {
        try await look(.identities, by: caller, nothing: []) { act throws(AuthorityError) in
            try act.transaction.identities(of: act.user.objectID)
        }
    }

    package func link(
        _ proof: IdentityProof, from origin: String, by caller: Caller
    ) async throws(AuthorityError) {
        // A caller without the right does not count as a try.
        try await look(.link, by: caller) { _ throws(AuthorityError) in }
        let proven = try await prove(proof, from: origin)
        let outcome = try await act(.link, by: caller) { act throws(AuthorityError) in
            let transaction = act.transaction
            guard try proven.spend(transaction) else { return IDTokenFault?.some(.spent) }
            try uncount(proven.keys, transaction)
            let user = act.user.objectID
            if try proven.known(transaction)?.user == user { return nil }
            guard try transaction.insert(proven.record(of: user, at: act.now)) else {
                throw .refuse(
                    .validation,
                    "another user has this identity, or you have another one of this provider")
            }
            try act.audit("identity.linked", proof.provider.description)
            return nil
        }
        if let outcome { throw try await refuse(outcome, proof.provider, from: origin) }
    }

    package func unlink(
        _ provider: LoginProvider, by caller: Caller
    ) async throws(AuthorityError) {
        try await act(.unlink, by: caller) { act throws(AuthorityError) in
            let user = act.user
            guard try act.transaction.deleteIdentity(provider, of: user.objectID) else {
                throw .refuse(.notFound, "you have no identity of this provider")
            }
            try requireWayIn(of: user, act.transaction)
            try act.audit("identity.unlinked", provider.description)
        }
    }

    /// Logs in the user with that identity. If there is none, signs a new user up, if this provider
    /// allows it.
    func enter(
        _ proof: IdentityProof, _ attempt: SignUp
    ) async throws(AuthorityError) -> LoggedIn {
        let proven = try await prove(proof, from: attempt.origin)
        switch try await open(proven, attempt) {
        case .success(let opened): return opened
        case .failure(let fault):
            throw try await refuse(fault, proof.provider, from: attempt.origin)
        }
    }

    /// The same for a proven identity. A refusal is not in the audit log yet.
    func open(
        _ proven: ProvenIdentity, _ attempt: SignUp
    ) async throws(AuthorityError) -> Result<LoggedIn, IDTokenFault> {
        let new = try newUserID()
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            let known = try proven.known(transaction)
            guard let user = try self.user(known, proven, new: new, transaction, at: now) else {
                return Result<LoggedIn, IDTokenFault>.failure(.nobody)
            }
            guard try proven.spend(transaction) else { return .failure(.spent) }
            let kept = known == nil
                ? try add(user, attempt.profile, proven, transaction)
                : try keep(attempt.profile, of: user, transaction, at: now)
            try transaction.clearFailures(proven.keys.each)
            let opened = try SessionOpening(
                authority: self, transaction: transaction, user: kept, now: now
            ).login(
                CreatedWith(known == nil ? .signup : .login, by: proven.provider.name),
                on: attempt.installation, from: attempt.origin)
            if proven.confirms(at: now) {
                try transaction.noteConfirmation(of: opened.session.objectID, at: now)
            }
            return .success(opened)
        }
    }

    /// The user with that identity, or a new user who is not stored yet. Nil: the login is refused.
    private func user(
        _ known: IdentityRecord?, _ proven: ProvenIdentity, new id: UserID,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> UserRecord? {
        if let known {
            guard let user = try transaction.user(known.user), user.isEnabled else { return nil }
            return user
        }
        guard proven.provider.letsPeopleSignUp else { return nil }
        return UserRecord(
            objectID: id, username: "\(proven.provider.name)-\(id)", passwordHash: nil,
            isAdministrator: false, mayClaim: false, createdAt: now)
    }

    private func add(
        _ new: UserRecord, _ profile: ProfileChange, _ proven: ProvenIdentity,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> UserRecord {
        let user = try applied(profile, to: new, transaction, at: new.createdAt)
        guard try transaction.insert(user),
            try transaction.insert(proven.record(of: user.objectID, at: user.createdAt))
        else { throw Self.nameTaken }
        return user
    }
}
