package import Sessions
import Wire

/// Gives a board whose session expired a new one from afar. Source: the wire contract, Renewal.
extension Authority {
    package func renew(
        _ board: InstallationID, _ duration: Duration?, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        let duration = try lifetime(duration)
        let claim = try await act(.renew, by: caller) { act throws(AuthorityError) in
            let record = try act.board(board, to: .own).record
            let expired = try act.renewable(on: board)
            guard let user = try act.transaction.user(expired.session.user), user.isEnabled,
                user.objectID == record.owner
            else {
                throw .refuse(.forbidden, "the user of the expired session cannot log in any more")
            }
            return try Provisioning(
                authority: self, transaction: act.transaction, board: ProvisionedBoard(record),
                claimant: user, actor: act.user.username, asking: expired.session.createdWith,
                scope: expired.scope, duration: duration,
                custom: CustomFields(kept: expired.session.custom), brought: nil,
                renewed: expired, now: act.now
            ).makeClaim()
        }
        try await publish(claim)
        return claim.view(at: claim.createdAt)
    }
}

extension Act {
    /// The board's last session, if it expired and nothing else is in the way. Otherwise throws 119
    /// with a sentence that says what helps instead.
    fileprivate func renewable(on board: InstallationID) throws(AuthorityError) -> SessionRecord {
        if let active = try transaction.activeSession(on: board) {
            guard active.hasExpired(at: now, under: authority.rules.lifetimes) else {
                throw refusal("its session lives; extend it with `postern sessions extend "
                    + "\(active.id) SPAN`")
            }
            try authority.endExpired(active, transaction, at: now)
        }
        if let open = try transaction.openClaim(on: board) {
            guard open.expiresAt <= now else {
                let what = open.renews == nil ? "a claim" : "a renewal"
                throw refusal("\(what) waits for the board until \(open.expiresAt.words); end it "
                    + "with `postern boards end-claim \(open.id)`")
            }
            try authority.close(
                open, as: .expired, detail: "", actor: "authority", transaction, at: now)
        }
        if let departing = try transaction.departing(on: board), departing.isRenewable {
            return departing
        }
        let reason = try transaction.lastEnded(on: board)?.endReason
        let words = switch reason.flatMap(UnavailableReason.init(rawValue:)) {
        case .expired: "its broker login was given up"
        case .signedOut: "its session was signed out"
        case .reuse: "its session ended because a used token came back"
        case .revoked: "its session was revoked"
        default: "it has no session that expired"
        }
        throw refusal("\(words): pair it again: run `sudo postern-agent pair` on the board and "
            + "scan the code")
    }

    private func refusal(_ words: String) -> AuthorityError {
        .refused(Refusal(.forbidden, "the board cannot be renewed: \(words)", name: .notRenewable))
    }
}
