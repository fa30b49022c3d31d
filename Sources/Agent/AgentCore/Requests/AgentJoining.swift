import Sessions
package import Wire

// A board with a prepared claim asks to join, until its authority has given it a session. It
// publishes its claim secret, sealed, by the prepared claim's login. In between it tries the login
// of that secret, as any board does that waits for a claim.
// Source: the wire contract, Prepared claims.

extension Agent {
    var isJoining: Bool { records.session == nil && records.join != nil }

    /// The text by which people compare this board's key on two screens.
    package var fingerprint: BoardFingerprint? {
        (try? cryptography.digest(records.identity.deviceKey))
            .flatMap(BoardFingerprint.init(digest:))
    }

    /// The part of `status` about the prepared claim. JSON null for a board that does not ask.
    var joinReport: JSONValue {
        guard isJoining, let join = records.join else { return .null }
        return .object([
            "authority": .string(join.authority), "expiresAt": .time(join.expiresAt),
            "state": .string(joining.state.rawValue),
            "fingerprint": fingerprint.map { .string($0.description) } ?? .null,
        ])
    }

    /// Makes a claim secret if there is none, or if it has expired and its login was refused since.
    /// While the board was off, a person may have accepted it with the expired secret.
    mutating func keepClaimOpen(at instant: Instant) {
        let isRefused = joining.isClaimRefused(ofSecrets: records.claim?.secrets.count ?? 0)
        guard isJoining, isRefused, !isClaimOpen(at: instant) else { return }
        do throws(CryptographyFailure) {
            try makeClaim(keepsFormer: true, at: instant)
        } catch {
            emit(.log(.error, "the random number generator failed"))
        }
    }

    func isClaimOpen(at instant: Instant) -> Bool {
        guard let claim = records.claim else { return false }
        return clock.isUnset(at: instant) || claim.expiresAt > clock.now(at: instant)
    }

    /// Whether the prepared claim will hardly serve any more, so that the board tries less often.
    func isJoinDead(at instant: Instant) -> Bool {
        guard isJoining, let join = records.join else { return false }
        return joining.isHopeless(hasEnded: join.expiresAt <= clock.floor, at: instant.monotonic)
    }

    /// Makes a new claim secret in place of any old one. A board that asks to join may have been
    /// accepted with the old one a moment ago, so it still counts if `keepsFormer`.
    mutating func makeClaim(
        keepsFormer: Bool, at instant: Instant
    ) throws(CryptographyFailure) {
        let claim = PendingClaim(
            secret: SecretBytes(try cryptography.random(32)),
            expiresAt: clock.now(at: instant) + settings.claimLifetime,
            awaitsClock: clock.isUnset(at: instant),
            former: isJoining && keepsFormer ? records.claim?.secret : nil)
        records.claim = claim
        joining.claimMade()
        emit(.commit([.claim(claim)]))
    }

    /// The prepared claim's login, if this try is for a join request. The broker is the one in
    /// `agent.toml`, because an earlier authority may have named the other one.
    mutating func joinLogin(at instant: Instant) -> UplinkLogin? {
        guard isJoining, let join = records.join, joining.takesTurn(at: instant.monotonic),
            let credential = firstCredential(from: join.secret, id: join.id)
        else { return nil }
        uplink.use(credential, toJoin: true)
        return UplinkLogin(
            uri: nil, ca: nil, clientID: "postern-\(join.id)", username: join.id.description,
            password: credential.password, will: nil)
    }

    /// Seals the join request and publishes it.
    mutating func ask(at instant: Instant) {
        guard isJoining, let join = records.join, let claim = records.claim, let id = freshID()
        else { return uplinkLost("this board does not ask to join any more", at: instant) }
        let topic = ContractTopic.outbox(join.id).text(under: settings.topicRoot)
        do throws(CryptographyFailure) {
            let request = JoinRequest(
                id: id, issuedAt: clock.now(at: instant), clockUnset: clock.isUnset(at: instant),
                installation: records.identity.installation, deviceKey: records.identity.deviceKey,
                claim: try cryptography.seal(
                    JoinSecret(claim.secret).plaintext, to: join.sealKey,
                    from: records.identity.deviceSecret, topic: topic),
                name: settings.name)
            let envelope = try cryptography.seal(
                request.plaintext, to: join.sealKey,
                claimKey: try cryptography.derive(.claim, from: join.secret, board: join.id),
                id: join.id, topic: topic)
            emit(.askToJoin(topic: topic, payload: envelope.payload))
        } catch {
            uplinkLost("the join request could not be sealed", at: instant)
        }
    }

    /// The broker has acknowledged the request, which has no reply.
    mutating func asked(at instant: Instant) {
        let text = "asks to join \(records.join?.authority ?? "")"
        if uplink.reach != text {
            let shown = fingerprint.map { "\($0)" } ?? "of its key"
            emit(.log(.info, "\(text): accept it there, after comparing the fingerprint \(shown)"))
        }
        joining.acknowledged(at: instant.monotonic, text)
        uplinkLost(text, isNews: false, at: instant)
    }

    mutating func joinRefused(_ text: String, at instant: Instant) {
        let answer = text + ": the prepared claim has ended, or is not known to this broker"
        joining.refused(answer, at: instant.monotonic)
        uplinkLost(answer, at: instant)
    }

    /// The board's own login is refused until it is accepted. The last answer to the join request
    /// says more about its state.
    mutating func claimRefused(_ text: String, at instant: Instant) {
        let own = records.claim.map { $0.secrets.compactMap(firstCredential) } ?? []
        let tried = own.firstIndex { uplink.credential?.password.matches($0.password) == true }
        if let tried, !isClaimOpen(at: instant) { joining.claimRefused(tried) }
        uplinkLost(joining.answer ?? text, isNews: false, at: instant)
    }
}
