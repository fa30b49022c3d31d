package import Sessions
import Wire

/// Provisioning. Source: the wire contract, The claim and Provisioning.
extension Authority {
    package func claim(
        _ order: ClaimOrder, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        let now = clock()
        try requireUnrestricted(caller)
        try ClaimBase(order.url.base).require(of: info)
        let duration = try lifetime(order.duration)
        let claim = try await store.transact { transaction throws(AuthorityError) in
            let claimant = try claimant(caller, transaction)
            let scope = try accepted(order.scope, by: claimant)
            try clearTheWay(order.url, transaction, at: now)
            let provisioning = Provisioning(
                authority: self, transaction: transaction, url: order.url, claimant: claimant,
                scope: scope, duration: duration, now: now)
            return try provisioning.open()
        }
        do throws(AuthorityError) {
            try await courier.settle(claim.installation.description)
        } catch {
            try await cancel(claim, because: error)
            throw error
        }
        return claim.view(at: now)
    }

    package func claim(
        _ id: MessageID, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            guard let claim = try transaction.claim(id),
                claim.claimant == caller.user.objectID || caller.user.isAdministrator
            else { throw .refuse(.notFound, "no such claim") }
            return claim.view(at: now)
        }
    }

    func requireUnrestricted(_ caller: Caller) throws(AuthorityError) {
        guard !caller.session.restricted else {
            throw .refuse(.forbidden, "a restricted session may not do this")
        }
    }

    private func claimant(
        _ caller: Caller, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> UserRecord {
        guard let user = try transaction.user(caller.user.objectID) else {
            throw .sessionOver
        }
        guard user.mayClaim || user.isAdministrator else {
            throw .refuse(.forbidden, "an administrator has not allowed you to claim boards")
        }
        return user
    }

    private func lifetime(_ wished: Duration?) throws(AuthorityError) -> Duration {
        guard let wished else { return rules.lifetimes.absolute }
        guard (LifetimePolicy.shortest...LifetimePolicy.longest).contains(wished) else {
            throw .refuse(.validation, "a session lasts from 5 minutes to 1 year")
        }
        guard wished <= rules.lifetimes.absolute else {
            let days = rules.lifetimes.absolute.components.seconds / 86_400
            throw .refuse(.validation, "this authority's sessions last at most \(days) days")
        }
        return wished
    }

    private func accepted(
        _ scope: ScopeDocument?, by claimant: UserRecord
    ) throws(AuthorityError) -> ScopeText? {
        guard let scope else { return nil }
        let judgement = ScopeJudgement(
            root: info.topicRoot, mayGrantTopics: claimant.isAdministrator)
        do throws(Refusal) {
            return try judgement.accept(scope)
        } catch {
            throw .refused(error)
        }
    }

    /// Refuses a secret that has served, another key for a known board, and a second claim
    /// while one is open; an open one whose time has passed is closed.
    private func clearTheWay(
        _ url: ClaimURL, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard try !transaction.isUsed(secretHash: try hash(of: url.secret)) else {
            throw .refuse(
                .forbidden, "this claim URL was used; `postern-agent pair --new` makes another")
        }
        if let board = try transaction.board(url.installation), !board.released,
            board.deviceKey != url.deviceKey
        {
            throw .refuse(
                .forbidden, "this board is known by another key; its owner must release it")
        }
        guard let open = try transaction.openClaim(on: url.installation) else { return }
        guard open.expiresAt <= now else {
            throw .refuse(
                .forbidden, "a claim of this board is open until \(open.expiresAt.seconds)")
        }
        try close(open, as: .expired, detail: "", actor: "authority", transaction, at: now)
    }

    private func cancel(
        _ claim: ClaimRecord, because error: AuthorityError
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            guard let open = try transaction.claim(claim.id), open.state == .sent else { return }
            try close(
                open, as: .cancelled, detail: "the broker could not be told",
                actor: "authority", transaction, at: now)
        }
    }
}

/// The page that a claim URL opens, without its fragment.
struct ClaimBase {
    let text: String

    init(_ text: String) { self.text = text }

    /// Passes `postern://claim` and this authority's own claim page; names any other's host.
    func require(of info: AuthorityInfo) throws(AuthorityError) {
        let own = Self.folded(info.publicURL + "/claim")
        guard text != ClaimURL.defaultBase, Self.folded(text) != own else { return }
        throw .refuse(.validation, "this claim is for another authority: \(host)")
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
