package import Sessions
import WebAuthn

/// Logs users in with passkeys, and confirms them.
extension Authority {
    package func login(_ attempt: PasskeyLogin) async throws(AuthorityError) -> LoggedIn {
        let visit = PasskeyVisit(purpose: .login, session: nil)
        let keys = LoginKeys(passkeysFrom: attempt.origin)
        let proven = try await prove(attempt.proof, visit, keys, of: nil, from: attempt.origin)
        let now = clock()
        let outcome = try await transactAndTell { transaction throws(AuthorityError) in
            guard let user = try transaction.user(proven.record.user), user.isEnabled else {
                return Result<LoggedIn, PasskeyFault>.failure(.unknown)
            }
            if let fault = try proven.use(transaction, at: now) { return .failure(fault) }
            try uncount(keys, transaction)
            return .success(try SessionOpening(
                authority: self, transaction: transaction, user: user, now: now
            ).login(CreatedWith(.login, by: .passkey), on: nil, from: attempt.origin))
        }
        switch outcome {
        case .success(let opened): return opened
        case .failure(let fault):
            throw try await refuse(fault, of: proven.record, from: attempt.origin)
        }
    }

    package func confirm(
        _ order: ConfirmationOrder, by caller: Caller
    ) async throws(AuthorityError) {
        // A caller without the right does not count as a try.
        let user = try await look(.confirm, by: caller) { act throws(AuthorityError) in
            act.user
        }
        switch order.proof {
        case .password(let password):
            let keys = LoginKeys(name: Username(user.username), origin: order.origin)
            let found = try await authenticate(password, keys, from: order.origin)
            guard found.objectID == user.objectID else { throw .loginFailed }
            try await act(.confirm, by: caller) { act throws(AuthorityError) in
                guard act.user.passwordHash == found.passwordHash else { throw .loginFailed }
                try uncount(keys, act.transaction)
                try confirm(act, with: "password")
            }
        case .passkey(let proof):
            try await confirm(proof, of: user, from: order.origin, by: caller)
        }
    }

    private func confirm(
        _ proof: PasskeyProof, of user: UserRecord, from origin: String, by caller: Caller
    ) async throws(AuthorityError) {
        let visit = PasskeyVisit(purpose: .confirm, session: caller.session.objectID)
        let keys = LoginKeys(passkeysFrom: origin)
        let proven = try await prove(proof, visit, keys, of: user, from: origin)
        let fault = try await act(.confirm, by: caller) { act throws(AuthorityError) in
            if let fault = try proven.use(act.transaction, at: act.now) {
                return PasskeyFault?.some(fault)
            }
            try uncount(keys, act.transaction)
            try confirm(act, with: "passkey \(proven.record.name)")
            return nil
        }
        if let fault { throw try await refuse(fault, of: proven.record, from: origin) }
    }

    private func confirm(_ act: Act, with means: String) throws(AuthorityError) {
        try act.transaction.noteConfirmation(of: act.session.id, at: act.now)
        try act.audit("login.confirmed", of: act.session, means)
    }

    /// Verifies a passkey's answer. The try counts and the challenge is spent before anything is
    /// checked, so that no answer is tried twice. With `user` the passkey must be that user's.
    private func prove(
        _ proof: PasskeyProof, _ visit: PasskeyVisit, _ keys: LoginKeys, of user: UserRecord?,
        from origin: String
    ) async throws(AuthorityError) -> ProvenPasskey {
        let site = try requireSite()
        let now = clock()
        let (challenge, record) = try await store.transact { transaction throws(AuthorityError) in
            try count(keys, transaction, at: now)
            return (
                try visit.spend(proof.visit, self, transaction, at: now),
                try transaction.passkey(credential: proof.assertion.id)
            )
        }
        let siteHash = try cryptography.sha256(Array(site.id.utf8))
        let clientHash = try cryptography.sha256(proof.assertion.clientData)
        let checked = Result { () throws(PasskeyFault) in
            guard let challenge else { throw .challenge }
            let data = try proof.assertion.checked(
                challenge: challenge, at: site, siteHash: siteHash)
            guard let record else { throw .unknown }
            guard user == nil || user?.objectID == record.user else { throw .otherUser }
            // A login names nobody, so the authenticator must. Source: WebAuthn Level 2 §7.2,
            // step 6.
            let owner = record.user.passkeyHandle
            let handle = proof.assertion.userHandle ?? (user == nil ? [] : owner)
            guard handle == owner else { throw .otherUser }
            let isSigned = cryptography.verify(
                proof.assertion.signature,
                of: proof.assertion.signedBytes(clientDataHash: clientHash),
                by: try PasskeyKey(cose: record.coseKey))
            guard isSigned else { throw .signature }
            return ProvenPasskey(record: record, data: data)
        }
        switch checked {
        case .success(let proven): return proven
        case .failure(let fault):
            guard let record else {
                throw try await refuse(fault, of: user?.username ?? "unknown", from: origin)
            }
            throw try await refuse(fault, of: record, from: origin)
        }
    }

    /// The same for a passkey of which the user is known.
    private func refuse(
        _ fault: PasskeyFault, of passkey: PasskeyRecord, from origin: String
    ) async throws(AuthorityError) -> AuthorityError {
        let owner = try await store.read { transaction throws(AuthorityError) in
            try transaction.user(passkey.user)?.username
        }
        return try await refuse(fault, of: owner ?? "unknown", from: origin)
    }

    /// Writes the reason to the audit log, and returns the error for the client.
    func refuse(
        _ fault: PasskeyFault, of username: String, from origin: String
    ) async throws(AuthorityError) -> AuthorityError {
        let now = clock()
        let event = fault == .cloned ? "passkey.cloned" : "passkey.failed"
        try await store.transact { transaction throws(AuthorityError) in
            try audit(
                event, username, nil, nil, "\(origin): \(fault.words)", transaction, at: now)
        }
        return .refused(Refusal(
            .notFound, "the passkey is not accepted: \(fault.words)", name: .passkeyRefused))
    }
}

/// A passkey whose answer is right but for its counter, which the last transaction compares.
struct ProvenPasskey: Sendable {
    let record: PasskeyRecord
    let data: AuthenticatorData

    /// Notes the use. Returns the fault if the passkey is gone, or if its counter did not grow.
    func use(
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> PasskeyFault? {
        guard var current = try transaction.passkey(credential: record.credential),
            current.id == record.id
        else { return .unknown }
        guard !data.isCloned(after: current.counter) else { return .cloned }
        current.counter = data.counter
        current.lastUsedAt = now
        try transaction.update(current)
        return nil
    }
}

extension UserID {
    /// The id of a user as an authenticator keeps it. It is random, and no name.
    package var passkeyHandle: [UInt8] { Array(description.utf8) }
}
