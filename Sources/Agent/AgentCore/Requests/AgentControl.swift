import Gate
package import Sessions
import Wire

extension Agent {
    /// Answers one request of the control socket, at once or when its outcome is known. Only
    /// `pair` has a secret in its answer.
    mutating func answer(
        _ request: ControlRequest, _ connection: Int, at instant: Instant
    ) {
        let answer: JSONValue
        switch request {
        case .status: answer = status(at: instant)
        case .session: answer = sessionReport(at: instant)
        case .queue: answer = .object(queueReport(at: instant))
        case .pair: answer = pair(fresh: false, at: instant)
        case .pairNew: answer = pair(fresh: true, at: instant)
        case .refresh(let minutes):
            return renew(minutes: minutes, for: connection, at: instant)
        case .logout: return logOut(for: connection, at: instant)
        case .acceptNoPolicy: answer = acceptNoPolicy(at: instant)
        // The store's to answer.
        case .vault, .rekey: answer = .null
        }
        emit(.answer(connection: connection, answer))
    }

    package func sessionReport(at instant: Instant) -> JSONValue {
        var members: [String: JSONValue] = [:]
        switch sessionState(at: instant) {
        case .available: members["state"] = .string("available")
        case .unavailable(let reason):
            members["state"] = .string("unavailable")
            members["reason"] = .string(reason.rawValue)
            members["code"] = .integer(Int64(reason.code.rawValue))
            members["final"] = life(at: instant).isFinal.map(JSONValue.bool)
        }
        if let held = records.session {
            members["session"] = held.session.json
            members["user"] = held.user.json
            members["validatedAt"] = .time(held.lastContact)
            members["scope"] = held.scope?.json ?? .null
            members["offlineUntil"] = .time(held.graceEnds(own: settings.offline))
            members["accessToken"] = accessTokenReport(of: held)
            members["refreshAt"] = requests.refreshAt.map { due in
                .time(clock.now(at: instant) + (due - instant.monotonic))
            } ?? .null
        }
        members["authority"] = records.trust.map { .string($0.authority.name) } ?? .null
        if isPolicyLost { members["policyLost"] = .bool(true) }
        return .object(members)
    }

    /// When the access token ends; nil where its key is pinned no longer. Not the token.
    private func accessTokenReport(of held: HeldSession) -> JSONValue {
        let keys = records.trust?.authority.signKeys ?? []
        guard let claims = try? cryptography.verify(held.tokens.access, keys: keys) else {
            return .null
        }
        return .object(["expiresAt": .time(claims.expiresAt)])
    }

    package func status(at instant: Instant) -> JSONValue {
        guard case .object(var members) = sessionReport(at: instant),
            case .object(let health) = health(up: true, at: instant).json
        else { return .null }
        members.merge(health) { $1 }
        members.merge(queueReport(at: instant)) { $1 }
        members["name"] = .string(settings.name)
        members["installationId"] = .string(records.identity.installation.description)
        members["version"] = .string(settings.version)
        members["inboxDropped"] = .integer(dropped)
        members["clock"] = .string(clock.isUnset(at: instant) ? "unset" : "set")
        members["notIssuedThere"] = .bool(!requests.notIssued.isEmpty)
        members["identityShared"] = .bool(uplink.isShared)
        members["lastSequence"] = .integer(records.lastSequence)
        members["lastForwarded"] = lastForwarded.map(JSONValue.integer) ?? .null
        members["place"] = learnedPlace
        return .object(members)
    }

    /// The claim URL: the open one, or a new one where there is none, it has expired, or a
    /// fresh one is wanted. A board with a session gives one only if it is asked for afresh.
    package mutating func pair(fresh: Bool, at instant: Instant) -> JSONValue {
        let now = clock.now(at: instant)
        let isOpen = records.claim.map { $0.expiresAt > now || clock.isUnset(at: instant) } ?? false
        if records.session != nil, !fresh, !isOpen {
            return Refusal(
                .forbidden, "this board is claimed; `pair --new` lets it be claimed again").json
        }
        if fresh || !isOpen {
            do throws(CryptographyFailure) {
                let claim = PendingClaim(
                    secret: SecretBytes(try cryptography.random(32)),
                    expiresAt: now + settings.claimLifetime,
                    awaitsClock: clock.isUnset(at: instant))
                records.claim = claim
                emit(.commit([.claim(claim)]))
            } catch {
                return Refusal(.quota, "no randomness is to be had").json
            }
            beginAnew(at: instant)
        }
        guard let claim = records.claim else { return .null }
        let url = ClaimURL(
            base: settings.claimBase, installation: records.identity.installation,
            deviceKey: records.identity.deviceKey, secret: claim.secret, name: settings.name)
        return .object(["url": .string(url.reveal()), "expiresAt": .time(claim.expiresAt)])
    }
}

extension Agent {
    /// A claim that was shown while the clock was not set has no end that means anything: its
    /// time begins when the clock is set.
    mutating func startClaimWhenClockIsSet(at instant: Instant) {
        guard let claim = records.claim, claim.awaitsClock, !clock.isUnset(at: instant) else {
            return
        }
        let started = PendingClaim(
            secret: claim.secret, expiresAt: clock.now(at: instant) + settings.claimLifetime)
        records.claim = started
        emit(.commit([.claim(started)]))
    }
}

extension Agent {
    /// A board that no authority has told the time may be years ahead, and find every
    /// provisioning expired. One under its own claim secret was sealed after the claim was
    /// made; if the claim is younger than the provisioning is valid for, by the same clock,
    /// the provisioning cannot have expired, and the clock is what is wrong.
    ///
    /// An expired one that a hostile broker kept is refused as ever: its claim is older.
    mutating func doubtClock(
        against provision: Provision, by opened: OpenedMessage, at instant: Instant
    ) {
        guard opened.mode == .psk, !clock.isSet, !clock.isUnset(at: instant),
            let claim = records.claim, opened.message.issuedAt >= clock.floor
        else { return }
        let now = clock.now(at: instant)
        let ends = [provision.expiresAt, provision.session.expiresAt].compactMap(\.self)
        guard let end = ends.min(), end <= now, claim.expiresAt > now else { return }
        let age = now - (claim.expiresAt - settings.claimLifetime)
        guard age >= .zero, age < end - opened.message.issuedAt else { return }
        clock.doubt()
        emit(.log(.warning, "this board's clock is ahead of its authority's: "
            + "it counts for nothing until the authority has told the time"))
    }
}
