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
            guard var record = try find(typed, act), record.isOpen(at: act.now) else {
                return ClaimCodeView?.none
            }
            try clearTheWay(to: record.installation, record.deviceKey, act)
            record.state = .named
            record.user = act.user.objectID
            record.session = act.session.id
            record.duration = duration
            record.scope = scope
            record.custom = custom
            try act.transaction.update(record)
            try audit(
                "claim.code-named", act.user.username, record.installation, act.session.id,
                "\(record.boardName) from \(record.origin)", act.transaction, at: act.now)
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
                return claim.map { .claimed($0.view(at: act.now)) } ?? .refused
            }
        }
        guard let found else { throw .noClaimCode }
        return found
    }

    /// The code, unless it is over or another person typed it first. Nil counts as a wrong code:
    /// see `find` of a login request.
    private func find(
        _ typed: TypedCode, _ act: Act
    ) throws(AuthorityError) -> ClaimCodeRecord? {
        try act.requireCodeTries(from: typed.origin)
        let found = try act.transaction.claimCode(userHash: try hash(of: typed.code))
        if let found, found.endsAt > act.now, found.isOf(act.user.objectID) { return found }
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

extension ClaimCodeRecord {
    fileprivate func isOf(_ person: UserID) -> Bool {
        user == person || user == nil && state == .waiting
    }
}

extension AuthorityError {
    /// The same for a code that never was, that is over, and that another person typed first.
    static let noClaimCode = AuthorityError.refused(Refusal(
        .notFound, "no board waits under this code; compare it with the board's screen, or run "
            + "`postern-agent pair` for a new one", name: .noClaimCode))
}
