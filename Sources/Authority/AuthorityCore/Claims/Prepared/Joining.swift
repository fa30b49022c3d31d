package import Sessions
import Wire

/// Hears join requests, and accepts the boards that send them. Source: the wire contract, Prepared
/// claims.
extension Authority {
    /// Handles a message at the outbox of a prepared claim. Nil if no prepared claim has this id.
    ///
    /// A request that changes nothing costs one decryption and no transaction.
    func join(
        _ payload: [UInt8], at id: InstallationID
    ) async throws(AuthorityError) -> HeardRequest? {
        let known = try await store.glance { transaction throws(AuthorityError) in
            try transaction.preparedClaim(id)
        }
        guard let known else { return nil }
        let now = clock()
        guard let keys = known.openKeys(at: now) else {
            return HeardRequest(answer: .dropped(.unopened))
        }
        let request: OpenedJoin
        switch open(payload, at: id, keys) {
        case .opened(let found): request = found
        case .dropped(let reason): return HeardRequest(answer: .dropped(reason))
        }
        if try joined(known, request, at: now) != nil {
            do throws(AuthorityError) {
                try await take(request, at: id, now, claimsAgain: true)
            } catch {
                guard case .refused = error else { throw error }
                // The claim with the former secret is void all the same: a person decides.
                try await take(request, at: id, now, claimsAgain: false)
            }
        }
        // Also for a repetition: the first try may have failed.
        if known.acceptsAtOnce, known.state != .accepted { try await acceptAtOnce(id) }
        return HeardRequest(answer: .silent)
    }

    /// Whether a join request on this outbox may change anything.
    func servesPreparedClaim(_ id: InstallationID) async throws(AuthorityError) -> Bool {
        let record = try await store.glance { transaction throws(AuthorityError) in
            try transaction.preparedClaim(id)
        }
        return record?.openKeys(at: clock()) != nil
    }

    private func take(
        _ request: OpenedJoin, at id: InstallationID, _ now: Timestamp, claimsAgain: Bool
    ) async throws(AuthorityError) {
        let lines = try await store.transact { transaction throws(AuthorityError) in
            guard let found = try transaction.preparedClaim(id), found.openKeys(at: now) != nil,
                let (record, effect) = try joined(found, request, at: now)
            else { return [String]() }
            try transaction.save(record)
            try audit(effect, of: record, request, transaction, at: now)
            if effect == .renewedSecret, let claim = record.claim {
                try replace(claim, of: id, claimsAgain, transaction, at: now)
            }
            return transaction.jobLines
        }
        for line in lines { worker.wake(line) }
    }

    /// Makes the claim of an accepted board again, because the board has another claim secret by
    /// now and cannot open that claim.
    private func replace(
        _ id: MessageID, of prepared: InstallationID, _ claimsAgain: Bool,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let claim = try transaction.claim(id), claim.state == .sent else { return }
        try close(
            claim, as: claim.expiresAt <= now ? .expired : .cancelled,
            detail: "the board has a new claim secret", actor: "authority", transaction, at: now)
        guard claimsAgain, let record = try transaction.preparedClaim(prepared) else { return }
        _ = try accept(record, actor: "authority", isAgain: true, transaction, at: now)
    }

    private enum JoinOpening {
        case opened(OpenedJoin)
        case dropped(DropReason)
    }

    private func open(
        _ payload: [UInt8], at id: InstallationID, _ claimKeys: ClaimKeys
    ) -> JoinOpening {
        let topic = ContractTopic.outbox(id).text(under: info.topicRoot)
        let envelope: SealedEnvelope
        do throws(WireError) {
            envelope = try SealedEnvelope(parsing: payload)
        } catch {
            return .dropped(.notSealed)
        }
        guard envelope.mode == .psk, envelope.to == keys.seal.id else {
            return .dropped(.notSealed)
        }
        let plaintext = cryptography.openJoin(
            envelope, claim: claimKeys, id: id, with: keys.seal, topic: topic)
        guard let plaintext else { return .dropped(.unopened) }
        do throws(WireError) {
            let request = try JoinRequest(parsing: plaintext)
            // Only the owner of the device key can have sealed this part.
            guard request.claim.to == keys.seal.id,
                let own = cryptography.open(
                    request.claim, from: request.deviceKey, with: keys.seal, topic: topic)
            else { return .dropped(.unopened) }
            return .opened(OpenedJoin(
                installation: request.installation, deviceKey: request.deviceKey,
                name: request.name, secret: try JoinSecret(parsing: own).secret))
        } catch {
            return .dropped(.unreadable)
        }
    }

    /// The record after the request. Nil if it changes nothing.
    private func joined(
        _ record: PreparedClaimRecord, _ request: OpenedJoin, at now: Timestamp
    ) throws(AuthorityError) -> (PreparedClaimRecord, PreparedClaimRecord.Joining)? {
        var record = record
        let effect = try record.take(request, at: now) { secret throws(AuthorityError) in
            try hash(of: secret)
        }
        return effect == .nothing ? nil : (record, effect)
    }

    private func audit(
        _ effect: PreparedClaimRecord.Joining, of record: PreparedClaimRecord,
        _ request: OpenedJoin, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let event = switch effect {
        case .nothing, .renewedSecret: String?.none
        case .asks: "prepared-claim.asked"
        case .second: "alarm.claim-used-twice"
        }
        guard let event else { return }
        let print = try fingerprint(of: request.deviceKey)
        try audit(
            event, "board", record.id, nil,
            "\(record.name): board \(request.installation), fingerprint \(print)", transaction,
            at: now)
    }

    /// Whether the authority has to do with this board in another way.
    func isKnown(
        _ board: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        if let record = try transaction.board(board), !record.released { return true }
        if try transaction.replacement(of: board) != nil { return true }
        if try transaction.openClaim(on: board) != nil { return true }
        return try transaction.departing(on: board) != nil
    }

    /// Accepts the first board of a claim that says so, if the board is new. If that is refused, a
    /// person decides.
    private func acceptAtOnce(_ id: InstallationID) async throws(AuthorityError) {
        do throws(AuthorityError) {
            try await changePrepared(id) { record, transaction, now throws(AuthorityError) in
                if let board = record.board?.installation, try isKnown(board, transaction) {
                    throw .refuse(.forbidden, "the authority knows this board already")
                }
                _ = try accept(record, actor: "authority", transaction, at: now)
            }
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            try await changePrepared(id) { found, transaction, now throws(AuthorityError) in
                var record = found
                record.acceptsAtOnce = false
                try transaction.save(record)
                try audit(
                    "prepared-claim.refused", "authority", id, nil,
                    "\(record.name): \(refusal.text)", transaction, at: now)
            }
        }
    }

    private func changePrepared(
        _ id: InstallationID,
        _ body: @escaping @Sendable (
            PreparedClaimRecord, any AuthorityTransaction, Timestamp
        ) throws(AuthorityError) -> Void
    ) async throws(AuthorityError) {
        let now = clock()
        let lines = try await store.transact { transaction throws(AuthorityError) in
            guard let record = try transaction.preparedClaim(id), record.acceptsAtOnce,
                record.state == .asking
            else { return [String]() }
            try body(record, transaction, now)
            return transaction.jobLines
        }
        for line in lines { worker.wake(line) }
    }
}

/// Accepting a board is claiming it for the user who prepared the claim.
extension Authority {
    package func acceptPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        let claim = try await act(.acceptPreparedClaim, by: caller) { act throws(AuthorityError) in
            try accept(
                act.preparedClaim(id), actor: act.user.username, act.transaction, at: act.now)
        }
        try await publish(claim)
        return claim.view(at: claim.createdAt)
    }

    /// - Parameter isAgain: The board was accepted before. A second board since then is a thief's.
    private func accept(
        _ found: PreparedClaimRecord, actor: String, isAgain: Bool = false,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> ClaimRecord {
        var record = found
        let url = try record.claimURL(isAgain: isAgain, at: now)
        guard let owner = try transaction.user(record.owner), owner.isEnabled,
            owner.mayClaim || owner.isAdministrator
        else {
            throw .refused(Refusal(
                .forbidden, "the user who prepared this claim may not claim boards any more",
                name: .mayNotClaim))
        }
        let scope = try record.terms.scope.map { scope throws(AuthorityError) in
            try accepted(scope.document(), by: owner)
        }
        // Nobody showed the claim URL of the board, so rights of administrators do not count.
        if let known = try transaction.board(url.installation), !known.released,
            known.owner != owner.objectID
        {
            throw .refused(Refusal(
                .forbidden, "another user owns this board; its owner must release it",
                name: .boardOwned))
        }
        try requireUnused(url.secret, transaction)
        try clearTheWay(
            to: url.installation, url.deviceKey, for: owner, actor: actor, transaction, at: now)
        let claim = try Provisioning(
            authority: self, transaction: transaction, board: ProvisionedBoard(url),
            claimant: owner, actor: actor, asking: record.terms.asking, scope: scope,
            duration: try lifetime(record.terms.duration), custom: try CustomFields([:]),
            brought: nil, now: now
        ).makeClaim()
        record.state = .accepted
        record.claim = claim.id
        try transaction.save(record)
        try audit(
            "prepared-claim.accepted", actor, record.id, claim.session,
            "\(record.name): board \(url.installation)", transaction, at: now)
        return claim
    }

    /// Gives a board that accepted its claim what was prepared for it.
    func labels(
        preparedFor claim: ClaimRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> [BoardLabel] {
        guard claim.renews == nil,
            var record = try transaction.preparedClaim(claimedBy: claim.id)
        else { return [] }
        record.board?.secret = nil
        try transaction.save(record)
        return record.terms.labels
    }

    /// Lets the board ask again after its claim was closed without its acceptance. Only a person
    /// accepts it then, so that nothing goes round in circles.
    func reopenPrepared(
        _ claim: ClaimRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard claim.renews == nil,
            var record = try transaction.preparedClaim(claimedBy: claim.id),
            record.state == .accepted
        else { return }
        record.state = .asking
        record.claim = nil
        record.acceptsAtOnce = false
        try transaction.save(record)
    }
}

extension PreparedClaimRecord {
    /// The parts of the claim URL of the board that asks to join. Throws 119 if none does, or if
    /// two boards came.
    fileprivate func claimURL(isAgain: Bool, at now: Timestamp) throws(AuthorityError) -> ClaimURL {
        func refusal(_ words: String, _ name: Refusal.Name? = nil) -> AuthorityError {
            .refused(Refusal(.forbidden, words, name: name))
        }
        guard state != .accepted else { throw refusal("its board was accepted already") }
        guard openKeys(at: now) != nil else {
            throw refusal("this prepared claim has ended; prepare another")
        }
        guard let board, let secret = board.secret else {
            throw refusal("no board has asked to join with this file yet")
        }
        guard secondAt == nil || isAgain else {
            throw refusal(
                "two boards came with this file; end it and prepare another", .claimUsedTwice)
        }
        return ClaimURL(
            base: ClaimURL.defaultBase, installation: board.installation,
            deviceKey: board.deviceKey, secret: secret, name: name)
    }
}
