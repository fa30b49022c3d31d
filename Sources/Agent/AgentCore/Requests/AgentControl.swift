import Gate
package import Sessions
import Wire

extension Agent {
    /// Answers one control socket request, at once or when its outcome is known. Only the answer
    /// to `pair` contains a secret.
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
        // The store answers these.
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
        members["joining"] = joinReport
        if isPolicyLost { members["policyLost"] = .bool(true) }
        return .object(members)
    }

    /// When the access token ends. JSON null if its key is no longer pinned. Never contains the
    /// token.
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
        members["inboxDropped"] = .integer(inbox.dropped)
        members["clock"] = .string(clock.isUnset(at: instant) ? "unset" : "set")
        members["notIssuedThere"] = .bool(requests.isNotIssued)
        members["identityShared"] = .bool(uplink.isShared)
        members["lastSequence"] = .integer(records.lastSequence)
        members["lastForwarded"] = outbox.lastForwarded.map(JSONValue.integer) ?? .null
        members["place"] = learnedPlace
        members["backup"] = backupReport
        return .object(members)
    }

    /// The claim URL. It uses the open claim, or makes a new one if none is open, the claim has
    /// expired, or `fresh` is true. A board with a session makes a new claim only if `fresh` is
    /// true.
    package mutating func pair(fresh: Bool, at instant: Instant) -> JSONValue {
        let isOpen = isClaimOpen(at: instant)
        if records.session != nil, !fresh, !isOpen {
            return Refusal(
                .forbidden, "this board is claimed; `pair --new` lets it be claimed again").json
        }
        if fresh || !isOpen {
            do throws(CryptographyFailure) {
                try makeClaim(keepsFormer: !fresh, at: instant)
            } catch {
                return Refusal(.quota, "the random number generator failed").json
            }
            beginAnew(at: instant)
        }
        guard let claim = records.claim else { return .null }
        uplink.claimShown(at: instant.monotonic)
        joining.wanted(at: instant.monotonic)
        let url = ClaimURL(
            base: settings.claimBase, installation: records.identity.installation,
            deviceKey: records.identity.deviceKey, secret: claim.secret, name: settings.name)
        return .object([
            "url": .string(url.reveal()), "expiresAt": .time(claim.expiresAt),
            "fingerprint": fingerprint.map { .string($0.description) } ?? .null,
        ])
    }
}

extension Agent {
    /// Starts a claim's lifetime when the clock is set. A claim made while the clock was unset
    /// has no meaningful end.
    mutating func startClaimWhenClockIsSet(at instant: Instant) {
        guard let claim = records.claim, claim.awaitsClock, !clock.isUnset(at: instant) else {
            return
        }
        let started = PendingClaim(
            secret: claim.secret, expiresAt: clock.now(at: instant) + settings.claimLifetime,
            former: claim.former)
        records.claim = started
        emit(.commit([.claim(started)]))
    }
}

extension Agent {
    /// Marks the clock as wrong if a fresh claim proves it. A board without the authority's time
    /// may be years ahead, and every provisioning would look expired. A provisioning under the
    /// board's own claim secret was sealed after the claim was made. If the claim is younger than
    /// the provisioning's validity by the same clock, the provisioning cannot have expired.
    ///
    /// An expired provisioning that a hostile broker kept is still refused, because its claim is
    /// older.
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
            + "the agent does not use it until the authority has sent the time"))
    }
}
