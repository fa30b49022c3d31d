package import Sessions
import Wire

/// Prepares, lists and ends prepared claims. Source: the wire contract, Prepared claims.
extension Authority {
    package func prepareClaims(
        _ order: PreparedClaimOrder, by caller: Caller
    ) async throws(AuthorityError) -> [NewPreparedClaim] {
        try order.requireLimits()
        guard rules.managesBrokerAccess else {
            throw .refuse(.validation, "this authority manages no logins at the broker")
        }
        let duration = try lifetime(order.duration)
        let place = try PreparedPlace(order, self)
        return try await act(.prepareClaims, by: caller) { act throws(AuthorityError) in
            let scope = try order.scope.map { scope throws(AuthorityError) in
                try accepted(scope, by: act.user)
            }
            try act.requireRoom(for: order.count)
            let terms = PreparedClaimRecord.Terms(
                labels: order.labels.sorted(), scope: scope, duration: duration,
                asking: act.session.session.createdWith)
            var made: [NewPreparedClaim] = []
            for number in 1...order.count {
                let secret = SecretBytes(try cryptography.random(32))
                let record = try act.prepare(
                    order.name.name(of: number), secret, terms, life: order.life,
                    acceptsAtOnce: order.acceptsAtOnce)
                made.append(NewPreparedClaim(
                    claim: try view(of: record, act.transaction, at: act.now),
                    file: try place.file(record, secret)))
            }
            return made
        }
    }

    package func preparedClaims(
        by caller: Caller
    ) async throws(AuthorityError) -> [PreparedClaimView] {
        try await look(.preparedClaims, by: caller) { act throws(AuthorityError) in
            let found = try act.transaction.preparedClaims(
                of: act.user.isAdministrator ? nil : act.user.objectID, limit: Self.listedPrepared)
            var views: [PreparedClaimView] = []
            for record in found {
                views.append(try view(of: record, act.transaction, at: act.now))
            }
            return views
        }
    }

    private static let listedPrepared = 1000

    package func endPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        let lines = try await act(.endPreparedClaim, by: caller) { act throws(AuthorityError) in
            let record = try act.preparedClaim(id)
            try end(record, actor: act.user.username, act.transaction, at: act.now)
            return [record.id, record.board?.installation].compactMap { $0?.description }
        }
        var isTold = true
        for line in lines { isTold = await worker.deliver(line) && isTold }
        return isTold
    }

    func view(
        of record: PreparedClaimRecord, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> PreparedClaimView {
        let isOver = record.expiresAt <= now
        let state: PreparedClaimView.State = switch record.state {
        case .prepared: isOver ? .expired : .prepared
        case .asking: isOver ? .expired : .asking
        case .accepted: .accepted
        case .ended: .ended
        }
        let isKnown = if let board = record.board, record.state == .asking {
            try self.isKnown(board.installation, transaction)
        } else {
            false
        }
        return PreparedClaimView(
            id: record.id, name: record.name,
            owner: try transaction.user(record.owner)?.username ?? "", state: state,
            createdAt: record.createdAt, expiresAt: record.expiresAt,
            acceptsAtOnce: record.acceptsAtOnce, labels: record.terms.labels,
            board: try record.board.map { board throws(AuthorityError) in
                PreparedClaimView.Board(
                    installation: board.installation, name: board.name,
                    fingerprint: try fingerprint(of: board.deviceKey), askedAt: board.askedAt,
                    isKnown: isKnown)
            },
            secondAt: record.secondAt)
    }

    func fingerprint(of deviceKey: [UInt8]) throws(AuthorityError) -> BoardFingerprint {
        guard let found = BoardFingerprint(digest: try cryptography.sha256(deviceKey)) else {
            throw .failed(layer: "crypto", text: "a digest has the wrong length")
        }
        return found
    }
}

// The ends of prepared claims.
extension Authority {
    /// Makes the file void, and ends the claim that waits for its board.
    func end(
        _ found: PreparedClaimRecord, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        guard found.state != .ended else { return }
        var record = found
        record.state = .ended
        record.acceptsAtOnce = false
        if record.endedAt == nil { record.close(at: now) }
        try transaction.save(record)
        try transaction.add(.login(record.id, password: false))
        try audit(
            "prepared-claim.ended", actor, record.id, nil, record.name, transaction, at: now)
        guard let id = record.claim, let claim = try transaction.claim(id), claim.state == .sent
        else { return }
        try close(claim, as: .cancelled, detail: "", actor: actor, transaction, at: now)
    }

    /// Ends those of a user who may not claim any more.
    func endPreparedClaims(
        of user: UserID, actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        for record in try transaction.openPreparedClaims(of: user) {
            try end(record, actor: actor, transaction, at: now)
        }
    }

    /// Takes the keys and the logins from those whose time has passed.
    func closePreparedClaims(
        _ transaction: any AuthorityTransaction, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let expired = try transaction.preparedClaims(expiredBefore: now, limit: limit)
        for var record in expired {
            record.close(at: now)
            try transaction.save(record)
            try transaction.add(.login(record.id, password: false))
            try audit(
                "prepared-claim.expired", "authority", record.id, nil, record.name, transaction,
                at: now)
        }
        return expired.count
    }
}

/// Where boards with the files find the authority.
private struct PreparedPlace {
    let broker: BrokerURI
    let ca: PreparedClaimFile.CertificateAuthority?
    let sealKey: [UInt8]
    let authority: String

    /// The order's address, or the one that the authority gives to boards and programs.
    init(_ order: PreparedClaimOrder, _ authority: Authority) throws(AuthorityError) {
        sealKey = authority.keys.seal.publicKey
        self.authority = authority.info.name
        let known = authority.rules.brokerPlace ?? authority.worker.consumerAccess
        let uri = if let broker = order.broker {
            broker
        } else if let known {
            // The configuration was checked at the start.
            try? BrokerURI(known.uri)
        } else {
            BrokerURI?.none
        }
        guard let uri, uri.scheme != .unix else {
            throw .refuse(
                .validation, "this authority knows no broker address for boards; name one "
                    + "that begins with mqtts:// or mqtt://")
        }
        broker = uri
        guard let pem = order.ca ?? (order.broker == nil ? known?.ca : nil) else {
            ca = nil
            return
        }
        guard let fingerprint = authority.cryptography.fingerprint(ofCertificate: pem) else {
            throw .refuse(.validation, "ca is not one certificate in PEM form")
        }
        ca = PreparedClaimFile.CertificateAuthority(pem: pem, fingerprint: fingerprint)
    }

    /// The file. Throws for one that boards would refuse, because it is too large.
    func file(
        _ record: PreparedClaimRecord, _ secret: SecretBytes
    ) throws(AuthorityError) -> PreparedClaimFile {
        let file = PreparedClaimFile(
            id: record.id, secret: secret, name: record.name, broker: broker, ca: ca,
            sealKey: sealKey, authority: authority, expiresAt: record.expiresAt)
        guard file.reveal().count <= PreparedClaimFile.limit else {
            throw .refuse(
                .tooLarge, "the file would have more than \(PreparedClaimFile.limit) bytes; "
                    + "shorten ca")
        }
        return file
    }
}

extension PreparedClaimOrder {
    /// A certificate that leaves room for the other members in the file.
    private static let longestCA = 12 * 1024

    fileprivate func requireLimits() throws(AuthorityError) {
        guard (1...PreparedClaimLimit.ofRequest).contains(count) else {
            throw .refuse(
                .validation, "one request prepares 1 to \(PreparedClaimLimit.ofRequest) claims")
        }
        guard count == 1 || name.isNumbered else {
            throw .refuse(
                .validation, "a name for more than one board has {n} in the place of its number")
        }
        guard PreparedClaimLimit.life.contains(life) else {
            throw .refuse(.validation, "a prepared claim lasts from 1 hour to 365 days")
        }
        guard labels.count <= BoardLabel.most else {
            throw .refuse(.validation, "a board has at most \(BoardLabel.most) labels")
        }
        guard (ca ?? "").utf8.count <= Self.longestCA else {
            throw .refuse(.tooLarge, "ca has at most \(Self.longestCA) bytes")
        }
    }
}

extension Act {
    /// A prepared claim that the caller may accept and end. Any other throws 101.
    func preparedClaim(_ id: InstallationID) throws(AuthorityError) -> PreparedClaimRecord {
        guard let record = try transaction.preparedClaim(id),
            record.owner == user.objectID || user.isAdministrator
        else { throw .refuse(.notFound, "no such prepared claim") }
        return record
    }

    fileprivate func requireRoom(for count: Int) throws(AuthorityError) {
        let (open, all) = try transaction.preparedClaimCounts(of: user.objectID)
        guard open + count <= PreparedClaimLimit.ofUser else {
            throw .refuse(
                .quota, "you have \(open) prepared claims; with these you would have more "
                    + "than \(PreparedClaimLimit.ofUser), which is the limit; end some first")
        }
        guard all + count <= PreparedClaimLimit.ofUserKept else {
            throw .refuse(
                .quota, "you had \(all) prepared claims in the last 30 days; the limit is "
                    + "\(PreparedClaimLimit.ofUserKept); wait until some of them are deleted")
        }
    }

    fileprivate func prepare(
        _ name: String, _ secret: SecretBytes, _ terms: PreparedClaimRecord.Terms,
        life: Duration, acceptsAtOnce: Bool
    ) throws(AuthorityError) -> PreparedClaimRecord {
        let id = InstallationID(random: try authority.cryptography.random(16))
        let record = PreparedClaimRecord(
            id: id, owner: user.objectID, name: name, terms: terms, createdAt: now,
            expiresAt: Timestamp(milliseconds: (now + life).seconds * 1000),
            keys: try authority.cryptography.claimKeys(secret: secret, board: id),
            acceptsAtOnce: acceptsAtOnce)
        try transaction.save(record)
        try transaction.add(.login(id, password: false))
        try authority.audit(
            "prepared-claim.made", user.username, id, nil, name, transaction, at: now)
        return record
    }
}
