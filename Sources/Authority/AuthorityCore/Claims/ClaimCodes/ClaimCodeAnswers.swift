import Sessions
import Wire

/// The person's side of a board's code: they type it, choose, and wait for the board.
extension Authority {
    package func claimCode(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView {
        let found = try await act(.readClaimCode, by: caller) { act throws(AuthorityError) in
            guard let record = try find(typed, act), record.isOpen(at: act.now) else {
                return ClaimCodeView?.none
            }
            return try view(of: record, typed.code)
        }
        guard let found else { throw .noClaimCode }
        return found
    }

    package func nameClaimCode(
        _ typed: TypedCode, _ terms: ClaimTerms, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView {
        let duration = try lifetime(terms.duration)
        let custom = try CustomFields(terms.custom).members
        let named = try await act(.nameClaimCode, by: caller) { act throws(AuthorityError) in
            let scope = try terms.scope.map { scope throws(AuthorityError) in
                try accepted(scope, by: act.user)
            }
            guard let found = try find(typed, act), found.isOpen(at: act.now) else {
                return ClaimCodeView?.none
            }
            // The board has not said yes, so its open renewal stays.
            try checkTheWay(
                to: found.installation, found.deviceKey, for: act.user, act.transaction,
                at: act.now)
            var record = found
            record.state = .named
            record.user = act.user.objectID
            record.session = act.session.id
            record.duration = duration
            record.scope = scope
            record.custom = custom
            if record != found { try act.transaction.update(record) }
            if found.state == .waiting {
                try audit(
                    "claim.code-named", act.user.username, record.installation, act.session.id,
                    "\(record.boardName) from \(record.origin)", act.transaction, at: act.now)
            }
            return try view(of: record, typed.code)
        }
        guard let named else { throw .noClaimCode }
        return named
    }

    package func claimCodeProgress(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeProgress {
        let found = try await act(.readClaimCode, by: caller) { act throws(AuthorityError) in
            guard let record = try find(typed, act) else { return ClaimCodeProgress?.none }
            switch record.state {
            case .waiting: return .waiting
            case .named: return .named
            case .refused: return .refused
            case .claimed:
                let claim = try record.claim.flatMap { id throws(AuthorityError) in
                    try act.transaction.claim(id)
                }
                guard let claim, claim.state != .cancelled else { return .refused }
                return .claimed(claim.view(at: act.now))
            }
        }
        guard let found else { throw .noClaimCode }
        return found
    }

    /// The code, unless it is over or another person typed it first. Nil counts as a wrong code:
    /// see `find` of a login request. A code that this user has is no guess, even if it is over.
    private func find(
        _ typed: TypedCode, _ act: Act
    ) throws(AuthorityError) -> ClaimCodeRecord? {
        let found = try act.transaction.claimCode(userHash: try hash(of: typed.code))
        if let found, found.user == act.user.objectID {
            return found.endsAt > act.now ? found : nil
        }
        try act.requireCodeTries(from: typed.origin)
        if let found, found.endsAt > act.now, found.state == .waiting, found.user == nil {
            return found
        }
        try act.countWrongCode(from: typed.origin)
        try act.audit("claim.code-wrong", of: act.session, typed.origin)
        return nil
    }

    private func view(
        of record: ClaimCodeRecord, _ code: UserCode
    ) throws(AuthorityError) -> ClaimCodeView {
        let digest = try cryptography.sha256(record.deviceKey)
        guard let fingerprint = BoardFingerprint(digest: digest) else {
            throw .failed(layer: "crypto", text: "a digest has the wrong length")
        }
        return ClaimCodeView(
            code: code, installation: record.installation, boardName: record.boardName,
            fingerprint: fingerprint, endsAt: record.endsAt)
    }
}

extension AuthorityError {
    /// The same for a code that never was, that is over, and that another person typed first.
    static let noClaimCode = AuthorityError.refused(Refusal(
        .notFound, "no board waits under this code; compare it with the board's screen, or run "
            + "`postern-agent pair` for a new one", name: .noClaimCode))
}
