import Sessions
import Wire

/// Claims boards for people. `accept` and `close` in `Acceptance.swift` are a claim's end.
/// Source: the wire contract, Identities and claims, and Provisioning.
extension Authority {
    package func claim(
        _ order: ClaimOrder, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        try ClaimBase(order.url.base).require(of: info)
        let (claim, notes) = try await act(.claim, by: caller) { act throws(AuthorityError) in
            let claim = try makeClaim(order, act)
            return (claim, try waitNotes(on: claim, act))
        }
        try await publish(claim)
        return claim.view(at: claim.createdAt, notes)
    }

    /// Makes the claim within the transaction of its claimant.
    func makeClaim(_ order: ClaimOrder, _ act: Act) throws(AuthorityError) -> ClaimRecord {
        let duration = try lifetime(order.terms.duration)
        let scope = try order.terms.scope.map { scope throws(AuthorityError) in
            try accepted(scope, by: act.user)
        }
        try requireUnused(order.url.secret, act.transaction)
        try clearTheWay(to: order.url.installation, order.url.deviceKey, act)
        let provisioning = Provisioning(
            authority: self, transaction: act.transaction,
            board: ProvisionedBoard(order.url), claimant: act.user,
            actor: act.user.username, asking: act.session.session.createdWith, scope: scope,
            duration: duration,
            custom: try CustomFields(order.terms.custom),
            brought: try order.imported.map { tokens throws(AuthorityError) in
                try TokenImport(act: act, url: order.url).judge(tokens)
            },
            now: act.now)
        return try provisioning.makeClaim()
    }

    func requireUnused(
        _ secret: SecretBytes, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard try !transaction.isUsed(secretHash: try hash(of: secret)) else {
            throw .refused(Refusal(
                .forbidden,
                "this claim URL was used; make a new one with `postern-agent pair --new`",
                name: .claimUsed))
        }
    }

    /// Waits until the broker has the provisioning. Cancels the claim if that fails.
    func publish(_ claim: ClaimRecord) async throws(AuthorityError) {
        do throws(AuthorityError) {
            try await worker.settle(claim.installation.description)
        } catch {
            try await cancel(claim, because: error)
            throw error
        }
    }

    /// A hint for the claimant if the board has not answered its revocation yet.
    private func waitNotes(on claim: ClaimRecord, _ act: Act) throws(AuthorityError) -> [String] {
        guard rules.managesBrokerAccess,
            try awaitsAnswer(from: claim.installation, act.transaction, at: act.now)
        else { return [] }
        return ["the board has not answered its revocation yet, so it keeps its broker login; if "
            + "it has lost that login, run `postern boards forget-revocation "
            + "\(claim.installation)` and claim it again"]
    }

    /// The requested duration. Throws 142 if it is outside the limits.
    func lifetime(_ wished: Duration?) throws(AuthorityError) -> Duration? {
        guard let wished else { return nil }
        guard (LifetimePolicy.shortest...LifetimePolicy.longest).contains(wished) else {
            throw .refused(.durationOutOfRange)
        }
        if let limit = rules.lifetimes.absolute, wished > limit {
            let hours = limit.components.seconds / 3600
            let text = hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
            throw .refused(Refusal(
                .validation, "this authority's sessions last at most \(text)",
                name: .durationOutOfRange))
        }
        return wished
    }

    /// Refuses as `checkTheWay`. Closes an open claim that has expired, and a renewal that
    /// waits: the person is at the board now.
    func clearTheWay(
        to board: InstallationID, _ deviceKey: [UInt8], _ act: Act
    ) throws(AuthorityError) {
        try clearTheWay(
            to: board, deviceKey, for: act.user, actor: act.user.username, act.transaction,
            at: act.now)
    }

    /// The same for a user who does not act.
    func clearTheWay(
        to board: InstallationID, _ deviceKey: [UInt8], for user: UserRecord, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let open = try checkTheWay(
            to: board, deviceKey, for: user, transaction, at: now)
        else { return }
        try close(
            open, as: open.expiresAt <= now ? .expired : .cancelled, detail: "",
            actor: open.expiresAt <= now ? "authority" : actor, transaction, at: now)
    }

    /// Refuses another user's board, another key for a known board, and a second claim while one
    /// is open. Changes nothing. Returns the open claim that a new one has to close.
    @discardableResult
    func checkTheWay(
        to board: InstallationID, _ deviceKey: [UInt8], for user: UserRecord,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> ClaimRecord? {
        guard try transaction.replacement(of: board) == nil,
            try !transaction.isReplaced(deviceKey: deviceKey)
        else {
            throw .refused(Refusal(
                .forbidden, "another board took the place of this one, so its key is refused; to "
                    + "use this machine again, empty the agent's state folder and pair it",
                name: .boardReplaced))
        }
        try requireClaimable(board, by: user, transaction)
        if let known = try transaction.board(board), !known.released,
            known.deviceKey != deviceKey
        {
            throw .refused(Refusal(
                .forbidden, "this board is known with another key; its owner must release it",
                name: .boardHasAnotherKey))
        }
        guard let open = try transaction.openClaim(on: board) else { return nil }
        guard open.expiresAt <= now || open.renews != nil else {
            throw .refused(Refusal(
                .forbidden, "this board has an open claim already, which it takes when it is "
                    + "online; `postern boards claims` lists it, and `end-claim` ends it",
                name: .claimOpen))
        }
        return open
    }

    private func cancel(
        _ claim: ClaimRecord, because error: AuthorityError
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            guard let open = try transaction.claim(claim.id), open.state == .sent else { return }
            try close(
                open, as: .cancelled, detail: "the broker did not get the change",
                actor: "authority", transaction, at: now)
        }
    }
}

/// The page of a claim URL, without the fragment.
struct ClaimBase {
    let text: String

    init(_ text: String) { self.text = text }

    /// Accepts `postern://claim` and this authority's own claim page. The error for another
    /// authority names its host.
    func require(of info: AuthorityInfo) throws(AuthorityError) {
        let own = Self.folded(info.publicURL + "/claim")
        guard text != ClaimURL.defaultBase, Self.folded(text) != own else { return }
        throw .refused(Refusal(
            .validation, "this claim is for another authority: \(host)",
            name: .claimOtherAuthority))
    }

    private static func folded(_ text: String) -> String {
        var text = Substring(text.lowercased())
        while text.hasSuffix("/") { text = text.dropLast() }
        return text.split(separator: "/").joined(separator: "/")
    }

    private var host: String {
        let afterScheme = text.split(separator: "/", omittingEmptySubsequences: true)
        let host = afterScheme.dropFirst().first ?? "unnamed"
        let visible = host.unicodeScalars.filter {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil
                || ".-:[]".unicodeScalars.contains($0))
        }
        return String(String(String.UnicodeScalarView(visible)).prefix(100))
    }
}
