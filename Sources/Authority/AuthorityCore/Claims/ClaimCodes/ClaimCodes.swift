package import Sessions
import Wire

/// The board's side of a code: it asks for one, learns who typed it, and confirms or refuses.
extension Authority {
    static let claimCodeRoom = RequestRoom(
        things: "codes of boards", address: 20, network: 50, all: 4096)

    package func openClaimCode(
        _ order: ClaimCodeOrder
    ) async throws(AuthorityError) -> OpenClaimCode {
        let now = clock()
        // Before any other work: a refused request writes nothing.
        try await store.read { transaction throws(AuthorityError) in
            try requireRoom(for: order, transaction, at: now)
        }
        let secret = DeviceCode(random: try cryptography.random(DeviceCode.randomCount))
        let deviceHash = try hash(of: secret)
        // A code may be taken, although that is very unlikely.
        for _ in 0..<3 {
            guard let code = UserCode(random: try cryptography.random(UserCode.randomCount))
            else { continue }
            let record = ClaimCodeRecord(
                deviceHash: deviceHash, userHash: try hash(of: code),
                installation: order.installation, deviceKey: order.deviceKey,
                boardName: order.name, origin: order.origin, createdAt: now,
                endsAt: now + ClaimCodeRecord.life)
            let isKept = try await store.transact { transaction throws(AuthorityError) in
                try requireRoom(for: order, transaction, at: now)
                return try transaction.insert(record)
            }
            guard isKept else { continue }
            return OpenClaimCode(
                secret: secret, code: code, life: ClaimCodeRecord.life,
                interval: ClaimCodeRecord.interval)
        }
        throw .failed(layer: "crypto", text: "the random numbers are not random")
    }

    private func requireRoom(
        for order: ClaimCodeOrder, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try Self.claimCodeRoom.require(for: CountedOrigin(order.origin), at: now) {
            scope, skipped throws(AuthorityError) in
            try transaction.claimCodeEnd(in: scope, skipping: skipped, after: now)
        }
    }

    package func claimCodeState(
        _ code: DeviceCode
    ) async throws(AuthorityError) -> ClaimCodeState {
        let hash = try hash(of: code)
        let now = clock()
        return try await store.glance { transaction throws(AuthorityError) in
            let record = try require(try transaction.claimCode(deviceHash: hash), at: now)
            switch record.state {
            case .waiting: return .waiting
            case .claimed: return .claimed
            case .refused: throw .claimCodeRefused
            case .named:
                let user = try record.user.flatMap { user throws(AuthorityError) in
                    try transaction.user(user)
                }
                guard let user else { throw .claimCodeRefused }
                return .named(username: user.username, authority: rules.info.name)
            }
        }
    }

    package func confirmClaimCode(
        _ code: DeviceCode, _ secret: SecretBytes
    ) async throws(AuthorityError) -> Claim {
        // Anybody may ask, so a guess writes nothing.
        guard try await claimCodeState(code) != .waiting else { throw .claimCodeNotNamed }
        let claim: ClaimRecord
        do throws(AuthorityError) {
            claim = try await claimNamed(try hash(of: code), secret)
        } catch {
            if case .refused = error { try await refuseClaimCode(code) }
            throw error
        }
        try await publish(claim)
        return claim.view(at: claim.createdAt)
    }

    /// Makes the claim, with the rights that the person has now, and spends the code.
    private func claimNamed(
        _ hash: [UInt8], _ secret: SecretBytes
    ) async throws(AuthorityError) -> ClaimRecord {
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            var record = try require(try transaction.claimCode(deviceHash: hash), at: now)
            guard record.state != .refused else { throw .claimCodeRefused }
            // The board repeats a request whose answer it did not get. A claim that ended since,
            // such as one that the broker did not get, is no success.
            if let made = record.claim, let claim = try transaction.claim(made) {
                guard claim.state == .sent || claim.state == .accepted else {
                    throw .claimCodeRefused
                }
                return claim
            }
            guard record.state == .named, let session = record.session else {
                throw .claimCodeNotNamed
            }
            guard let held = try transaction.held(session), held.user.objectID == record.user,
                held.mayAsk(at: now, under: rules.lifetimes)
            else { throw .claimCodePersonGone }
            let act = try Act(
                .claim, by: Caller(user: held.user.view, session: held.session.session), self,
                transaction, at: now)
            let url = ClaimURL(
                base: ClaimURL.defaultBase, installation: record.installation,
                deviceKey: record.deviceKey, secret: secret, name: record.boardName)
            let scope = try record.scope?.document()
            let claim = try makeClaim(
                ClaimOrder(
                    url: url, duration: record.duration, scope: scope, custom: record.custom),
                act)
            record.state = .claimed
            record.claim = claim.id
            try transaction.update(record)
            return claim
        }
    }

    package func refuseClaimCode(_ code: DeviceCode) async throws(AuthorityError) {
        let hash = try hash(of: code)
        let now = clock()
        let isOpen = try await store.glance { transaction throws(AuthorityError) in
            try transaction.claimCode(deviceHash: hash)?.isOpen(at: now) == true
        }
        // Anybody may ask, so a guess writes nothing.
        guard isOpen else { return }
        try await store.transact { transaction throws(AuthorityError) in
            guard var record = try transaction.claimCode(deviceHash: hash),
                record.isOpen(at: now)
            else { return }
            record.state = .refused
            try transaction.update(record)
            try audit(
                "claim.code-refused", "board", record.installation, nil, record.boardName,
                transaction, at: now)
        }
    }

    /// The code of a board, if it is not over.
    private func require(
        _ found: ClaimCodeRecord?, at now: Timestamp
    ) throws(AuthorityError) -> ClaimCodeRecord {
        guard let found, found.endsAt > now else { throw .claimCodeOver }
        return found
    }
}

extension AuthorityError {
    private static let again = "run `postern-agent pair` for a new code"
    static let claimCodeOver = AuthorityError.refused(Refusal(
        .notFound, "this code is over; \(again)", name: .expiredToken))
    static let claimCodeRefused = AuthorityError.refused(Refusal(
        .forbidden, "this code was refused; \(again)", name: .accessDenied))
    static let claimCodeNotNamed = AuthorityError.refused(Refusal(
        .validation, "nobody has typed this code; \(again)", name: .authorizationPending))
    static let claimCodePersonGone = AuthorityError.refused(Refusal(
        .forbidden, "the person who typed this code has logged out since; \(again)",
        name: .accessDenied))
}
