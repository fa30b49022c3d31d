import Foundation

extension SessionClient {
    /// Asks whether the session lives, and takes what the authority says of it. It never moves
    /// `expiresAt`. It is a use of the session, so a limit for unused sessions counts from it.
    ///
    /// The client does this by itself while there is a session. Call it when the app comes to the
    /// foreground. If the authority does not answer, ``availability`` says so and nothing is
    /// cleared.
    public func heartbeat() async throws(SessionError) {
        let began = generation
        do throws(SessionError) {
            let caller = try await ask(.get("/postern/v1/me"), as: CallerForm.self)
            guard generation == began else { return }
            try await keep(caller.session, of: caller.user)
        } catch {
            if generation == began, held != nil, error.isAbsence {
                set(.unavailable(.authorityAway(error)))
            }
            throw error
        }
    }

    /// One beat of the heart. Returns how long to wait for the next: less while nobody answers.
    func nextBeat(after wait: Duration) async -> Duration? {
        do throws(SessionError) {
            try await heartbeat()
            try await renewIfDue()
            return held == nil ? nil : options.heartbeat
        } catch {
            guard held != nil else { return nil }
            guard error.isAbsence else { return options.heartbeat }
            let isFirst = wait == options.heartbeat
            return min(options.heartbeat, isFirst ? .seconds(1) : wait * 2)
        }
    }

    /// Stores what the authority says of this session now.
    func keep(_ details: SessionDetails, of user: AccountUser? = nil) async throws(SessionError) {
        guard var session = held else { throw .loggedOut }
        session.details = details
        session.user = user ?? session.user
        held = session
        set(session.availability)
        try await store(session)
    }
}

extension SessionError {
    /// Whether this is why a session cannot be used just now, although it may live.
    fileprivate var isAbsence: Bool {
        switch self {
        case .transport, .tls, .malformedAnswer: true
        case .refused(let refusal): refusal.status != 429
        default: false
        }
    }
}
