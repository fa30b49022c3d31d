package import Sessions

/// A claim that waits for its board, with details for a list.
package struct OpenClaim: Equatable, Sendable {
    package let claim: Claim
    /// The board's name in its claim URL.
    package let boardName: String
    /// The claimant's user name.
    package let claimant: String
    package let madeAt: Timestamp

    package init(claim: Claim, boardName: String, claimant: String, madeAt: Timestamp) {
        self.claim = claim
        self.boardName = boardName
        self.claimant = claimant
        self.madeAt = madeAt
    }
}

extension Authority {
    /// A board that is known and was not released belongs to its owner: only the owner and
    /// administrators may claim it. Others get 119. So does everybody who claims the id of a
    /// prepared claim, whose login the board would get.
    ///
    /// Source: the wire contract, Claiming at the authority.
    func requireClaimable(
        _ board: InstallationID, by user: UserRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard try transaction.preparedClaim(board) == nil else {
            throw .refuse(.forbidden, "this board has the id of a prepared claim")
        }
        guard let record = try transaction.board(board), !record.released,
            record.owner != user.objectID, !user.isAdministrator
        else { return }
        throw .refused(Refusal(
            .forbidden,
            "another user owns this board; its owner must release it, or an administrator claim it",
            name: .boardOwned))
    }
}

extension Act {
    /// A claim that the caller made, or one on the caller's board; any claim for an administrator.
    /// Any other throws 101, whether it exists or not.
    func visibleClaim(_ id: MessageID) throws(AuthorityError) -> ClaimRecord {
        guard let claim = try transaction.claim(id) else {
            throw .refuse(.notFound, "no such claim")
        }
        if claim.claimant == user.objectID || user.isAdministrator { return claim }
        guard let board = try transaction.board(claim.installation), !board.released,
            board.owner == user.objectID
        else { throw .refuse(.notFound, "no such claim") }
        return claim
    }
}

/// Lists and ends open claims for claimants and owners of boards.
extension Authority {
    package func claim(
        _ id: MessageID, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        try await look(.claimState, by: caller) { act throws(AuthorityError) in
            try act.visibleClaim(id).view(at: act.now)
        }
    }

    package func openClaims(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [OpenClaim] {
        let deed: CallKind = everyone ? .everyOpenClaim : .openClaims
        return try await look(deed, by: caller, nothing: []) { act throws(AuthorityError) in
            let found = try act.transaction.openClaims(
                of: everyone ? nil : act.user.objectID, at: act.now, limit: Self.listedClaims)
            var claims: [OpenClaim] = []
            for claim in found {
                claims.append(OpenClaim(
                    claim: claim.view(at: act.now), boardName: claim.boardName,
                    claimant: try act.transaction.user(claim.claimant)?.username ?? "",
                    madeAt: claim.createdAt))
            }
            return claims
        }
    }

    private static let listedClaims = 1000

    @discardableResult
    package func endClaim(
        _ id: MessageID, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        let board = try await act(.endClaim, by: caller) { act throws(AuthorityError) in
            let claim = try act.visibleClaim(id)
            if claim.state == .sent {
                try close(
                    claim, as: .cancelled, detail: "", actor: act.user.username,
                    act.transaction, at: act.now)
            }
            return claim.installation
        }
        return await runJobs(of: board)
    }

    @discardableResult
    package func forgetRevocation(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        try await act(.forgetRevocation, by: caller) { act throws(AuthorityError) in
            // An administrator may forget that of a released board, too.
            let record = try act.transaction.board(board)
            if record == nil || !act.user.isAdministrator {
                _ = try act.board(board, to: .own)
            }
            guard let departing = try act.transaction.departing(on: board) else { return }
            // A claim opened meanwhile relies on the login that ends now, so close it.
            if let open = try act.transaction.openClaim(on: board) {
                try close(
                    open, as: .cancelled, detail: "", actor: act.user.username,
                    act.transaction, at: act.now)
            }
            try forgetFarewells(on: board, act.transaction, at: act.now)
            try audit(
                "revocation.forgotten", act.user.username, board, departing.id, "",
                act.transaction, at: act.now)
            try addBrokerJobs(board, act.transaction, at: act.now)
        }
        return await runJobs(of: board)
    }
}
