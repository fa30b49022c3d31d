package import Sessions
import WebAuthn

/// Adds, lists, names and removes a user's passkeys.
extension Authority {
    package var loginWays: LoginWays {
        LoginWays(
            takesPasswords: rules.takesPasswords, site: loginSite, providers: providerButtons)
    }

    var loginSite: RelyingParty { RelyingParty(publicURL: rules.info.publicURL) }

    /// The most passkeys of one user.
    private static let passkeyLimit = 32

    package func passkeyOptions(
        _ purpose: PasskeyPurpose, by caller: Caller?
    ) async throws(AuthorityError) -> PasskeyOptions {
        let site = try requireSite()
        guard purpose != .login else { return try options(.login, site, nil, nil, []) }
        guard let caller else { throw .sessionOver }
        let deed: CallKind = purpose == .register ? .beginPasskey : .confirm
        let (user, passkeys) = try await look(deed, by: caller) { act throws(AuthorityError) in
            let all = try act.transaction.passkeys(of: act.user.objectID)
            return (act.user.profile, all.filter { $0.site == site.id })
        }
        guard purpose != .confirm || !passkeys.isEmpty else {
            throw .refuse(.notFound, "you have no passkey; confirm with your password")
        }
        return try options(
            purpose, site, caller.session.objectID, user, passkeys.map(\.credential))
    }

    private func options(
        _ purpose: PasskeyPurpose, _ site: RelyingParty, _ session: ObjectID?,
        _ user: UserProfile?, _ credentials: [[UInt8]]
    ) throws(AuthorityError) -> PasskeyOptions {
        let visit = PasskeyVisit(purpose: purpose, session: session)
        let cookie = try visit.begin(self, at: clock())
        return PasskeyOptions(
            purpose: purpose, site: site, siteName: rules.info.name,
            challenge: try visit.challenge(of: cookie, self),
            visit: SecretBytes(Array(Base64URL.encode(cookie).utf8)), user: user,
            credentials: credentials)
    }

    /// Throws if passkeys cannot work at the address of the page.
    func requireSite() throws(AuthorityError) -> RelyingParty {
        let site = loginSite
        guard let problem = site.problem else { return site }
        throw .refused(Refusal(
            .forbidden, "passkeys cannot work here: \(problem.words)",
            name: .passkeysUnavailable))
    }

    package func passkeys(by caller: Caller) async throws(AuthorityError) -> OwnLoginWays {
        try await look(.passkeys, by: caller) { act throws(AuthorityError) in
            let user = act.user
            return OwnLoginWays(
                passkeys: try act.transaction.passkeys(of: user.objectID),
                hasPassword: rules.takesPasswords && user.passwordHash != nil,
                providers: try act.transaction.identities(of: user.objectID).map(\.provider),
                recoveryCodeAt: try act.transaction.recoveryCode(of: user.objectID)?.createdAt)
        }
    }

    package func addPasskey(
        _ order: PasskeyOrder, by caller: Caller
    ) async throws(AuthorityError) -> PasskeyRecord {
        let site = try requireSite()
        let siteHash = try cryptography.sha256(Array(site.id.utf8))
        let id = try newObjectID()
        let keys = LoginKeys(passkeysFrom: order.origin)
        // A caller without the right does not count as a try.
        try await look(.addPasskey, by: caller) { _ throws(AuthorityError) in }
        try await countApart(keys)
        // A refusal is a result, so that the challenge is spent all the same.
        let outcome = try await act(.addPasskey, by: caller) { act throws(AuthorityError) in
            let user = act.user.objectID
            guard try act.transaction.passkeys(of: user).count < Self.passkeyLimit else {
                throw .refuse(
                    .quota, "you have \(Self.passkeyLimit) passkeys; remove one of them first")
            }
            let visit = PasskeyVisit(purpose: .register, session: act.session.id)
            guard let challenge = try visit.spend(
                order.visit, self, act.transaction, at: act.now)
            else { return Result<PasskeyRecord, PasskeyFault>.failure(.challenge) }
            let checked = Result { () throws(PasskeyFault) in
                try order.registration.checked(
                    challenge: challenge, at: site, siteHash: siteHash)
            }
            guard case .success(let data) = checked, let credential = data.credential,
                cryptography.isUsable(credential.key)
            else { return .failure(checked.fault ?? .algorithm) }
            let passkey = PasskeyRecord(
                id: id, credential: credential.id, user: user, site: site.id, name: order.name,
                coseKey: credential.coseKey, counter: data.counter, createdAt: act.now)
            guard try act.transaction.insert(passkey) else { return .failure(.known) }
            try uncount(keys, act.transaction)
            try act.audit("passkey.added", order.name)
            return .success(passkey)
        }
        switch outcome {
        case .success(let passkey): return passkey
        case .failure(let fault):
            throw try await refuse(fault, of: caller.user.username, from: order.origin)
        }
    }

    package func renamePasskey(
        _ id: ObjectID, to name: String, by caller: Caller
    ) async throws(AuthorityError) -> PasskeyRecord {
        try await act(.renamePasskey, by: caller) { act throws(AuthorityError) in
            var passkey = try act.passkey(id)
            let former = passkey.name
            passkey.name = name
            try act.transaction.update(passkey)
            try act.audit("passkey.renamed", "\(former) is now \(name)")
            return passkey
        }
    }

    package func removePasskey(
        _ id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) {
        try await act(.removePasskey, by: caller) { act throws(AuthorityError) in
            let passkey = try act.passkey(id)
            try act.transaction.deletePasskey(id)
            try requireWayIn(of: act.user, act.transaction)
            try act.audit("passkey.removed", passkey.name)
        }
    }

    /// Checks that the user, as changed, can log in again.
    func requireWayIn(
        of user: UserRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard try hasWayIn(user, transaction) else {
            throw .refused(Refusal(
                .validation, "this is your only way to log in; add another", name: .lastWayIn))
        }
    }

    /// Whether the user can log in with a password, as an anonymous user, with a provider's
    /// identity or with a passkey. A recovery code does not count, because it serves once.
    private func hasWayIn(
        _ user: UserRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        if user.anonymousHash != nil { return true }
        if rules.takesPasswords, user.passwordHash != nil { return true }
        let identities = try transaction.identities(of: user.objectID)
        if identities.contains(where: { rules.providers[$0.provider]?.issuer == $0.issuer }) {
            return true
        }
        let site = loginWays.site
        guard site.problem == nil else { return false }
        return try transaction.passkeys(of: user.objectID).contains { $0.site == site.id }
    }

    /// Whether an administrator can log in, be it by a recovery code.
    package func hasWayIn() async throws(AuthorityError) -> Bool {
        guard !rules.takesPasswords else { return true }
        return try await store.read { transaction throws(AuthorityError) in
            for user in try transaction.users() where user.isAdministrator && user.isEnabled {
                if try hasWayIn(user, transaction) { return true }
                if try transaction.recoveryCode(of: user.objectID) != nil { return true }
            }
            return false
        }
    }
}

extension AuthorityRules {
    /// How to make passkeys work. Nil: they work.
    package var passkeyAdvice: String? {
        RelyingParty(publicURL: info.publicURL).problem.map { problem in
            "passkeys cannot work yet: \(problem.words); they work at https:// and a host name"
        }
    }
}

extension Result where Failure == PasskeyFault {
    fileprivate var fault: PasskeyFault? {
        if case .failure(let fault) = self { fault } else { nil }
    }
}

extension Act {
    /// One of the caller's own passkeys. Any other throws 101, whether it exists or not.
    fileprivate func passkey(_ id: ObjectID) throws(AuthorityError) -> PasskeyRecord {
        let own = try transaction.passkeys(of: user.objectID)
        guard let found = own.first(where: { $0.id == id }) else {
            throw .refuse(.notFound, "you have no such passkey")
        }
        return found
    }
}
