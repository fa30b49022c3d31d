import Foundation

/// Renews a session before it ends, without a person.
public struct SessionRenewal: Sendable {
    /// How long before its end a session is renewed.
    public var margin: Duration
    /// Asks for a new proof of who the person is, such as a provider's fresh id token. It is asked
    /// once the authority's limits let nothing be extended any more; nil: then the session ends. If
    /// it fails, it is asked again after 10 minutes or more.
    public var credential: (@Sendable () async throws -> LoginCredential)?

    public init(
        margin: Duration = .seconds(86_400),
        credential: (@Sendable () async throws -> LoginCredential)? = nil
    ) {
        self.margin = margin
        self.credential = credential
    }
}

/// When the client may try to renew again.
struct RenewalState {
    /// Not before this time. A session that is shorter than the margin is not renewed at each beat.
    var notBefore = Date.distantPast
}

extension SessionClient {
    /// Renews if the session's end is near: by an extension, or else by a new login.
    func renewIfDue() async throws(SessionError) {
        guard let rule = options.renewal, let session = held, let end = session.details.expiresAt
        else { return }
        let now = Date()
        guard end.timeIntervalSince(now) < rule.margin / .seconds(1), now >= renewal.notBefore
        else { return }
        if let latest = session.details.latestEnd, latest.timeIntervalSince(end) > 60 {
            try await extend(by: .seconds(min(latest.timeIntervalSince(now) - 1, 31_536_000)))
        } else if let credential = rule.credential {
            // Also if this fails, the app is not asked for a proof at each beat.
            renewal.notBefore = now + max(600, end.timeIntervalSince(now) / 2)
            try await replace(session, by: credential)
            waitWithNext()
            return await endQuietly(session)
        }
        waitWithNext()
    }

    private func waitWithNext() {
        let left = held?.details.expiresAt?.timeIntervalSinceNow ?? 0
        renewal.notBefore = Date(timeIntervalSinceNow: max(0, left) / 2)
    }

    /// Logs in again. The old session is used until the new one is stored.
    private func replace(
        _ session: StoredSession, by credential: @Sendable () async throws -> LoginCredential
    ) async throws(SessionError) {
        let began = generation
        let proof: LoginCredential
        do {
            proof = try await credential()
        } catch {
            throw .invalid("the app has no new proof of who the person is")
        }
        let next = try await newSession(proof)
        guard next.user.id == session.user.id else {
            await endQuietly(next)
            throw .invalid("the new proof is of another person")
        }
        try await adopt(next, since: began)
    }
}
