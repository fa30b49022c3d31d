import Foundation

extension SessionClient {
    /// Reads the stored session, before any network, and then asks whether it lives.
    ///
    /// The result is `available` with the time of the last validation, `loggedOut` if nothing is
    /// stored, or says why the stored session cannot be used.
    @discardableResult
    public func restore() async -> SessionAvailability {
        let began = generation
        let found: Data?
        do throws(StorageError) {
            found = try await storage.load()
        } catch {
            guard generation == began, held == nil else { return availability }
            if case .unreadable = error {
                set(.unavailable(.unreadable(error)))
            } else {
                set(.unavailable(.storageAway(error)))
            }
            return availability
        }
        guard generation == began, held == nil else { return availability }
        guard let found else {
            set(.unavailable(.loggedOut))
            return availability
        }
        guard let session = StoredSession(bytes: found, for: address.root) else {
            try? await storage.setAside()
            let why = "the stored session is of another form, or of another authority"
            set(.unavailable(.unreadable(.unreadable(why, setAside: nil))))
            return availability
        }
        generation += 1
        held = session
        set(session.availability, isConfirmed: false)
        beat(now: true)
        return availability
    }

    /// Logs in, and stores the session before it returns. A session that was there before ends.
    @discardableResult
    public func logIn(_ credential: LoginCredential) async throws(SessionError) -> SessionDetails {
        let began = generation
        let before = held
        let session = try await newSession(credential)
        try await adopt(session, since: began)
        if let before { await endQuietly(before) }
        return session.details
    }

    /// Logs out: clears the storage, and then ends the session at the authority.
    ///
    /// The person is logged out in any case. ``SessionError/storage(_:)`` says that the stored
    /// session, with its token, could not be removed. Any other error says that the authority could
    /// not be told: there the session lasts until it ends by itself, or until it is revoked. If
    /// both happened, the storage's error is thrown. A session that was over already is no error.
    public func logOut() async throws(SessionError) {
        let session = held
        let fault = await end(.loggedOut)
        do throws(SessionError) {
            if let session { try await endAtAuthority(session) }
        } catch {
            if fault == nil, !error.isSessionOver { throw error }
        }
        if let fault { throw .storage(fault) }
    }

    /// A new session at the authority. Nothing is stored yet. If this fails after the login, it
    /// logs the new token out.
    func newSession(_ credential: LoginCredential) async throws(SessionError) -> StoredSession {
        let authority = try await send(
            .get("/postern/v1/info"), application: nil, token: nil, as: AuthorityForm.self)
        let application = authority.applicationId
        let login = try await send(
            try credential.request(parse: authority.parsePath), application: application,
            token: nil, as: LoggedInForm.self)
        let token = BearerToken(login.sessionToken)
        do throws(SessionError) {
            let caller = try await send(
                .get("/postern/v1/me"), application: application, token: token,
                as: CallerForm.self)
            return StoredSession(
                token: token, authority: authority, user: caller.user, details: caller.session,
                validatedAt: Date())
        } catch {
            // The session's id is not known. A task of its own, as the caller may be cancelled.
            let logout = APIRequest(method: "POST", path: "\(authority.parsePath)/logout")
            let work = Task {
                try await self.send(logout, application: application, token: token)
            }
            _ = await work.result
            throw error
        }
    }

    /// Stores a new session, and then uses it. Ends it again if it cannot be kept.
    func adopt(_ session: StoredSession, since began: Int) async throws(SessionError) {
        guard generation == began else {
            await endQuietly(session)
            throw .cancelled
        }
        generation += 1
        let mine = generation
        do throws(SessionError) {
            try await store(session)
            guard generation == mine else { throw .cancelled }
        } catch {
            await endQuietly(session)
            throw error
        }
        // A call that began while the session was being stored went out under the old token.
        generation += 1
        held = session
        renewal = RenewalState()
        set(session.availability)
        beat()
    }

    /// Writes the session. If another came or went meanwhile, the storage has that one in the end.
    func store(_ session: StoredSession) async throws(SessionError) {
        let bytes = try session.bytes(for: address.root)
        let mine = generation
        do throws(StorageError) {
            try await storage.save(bytes)
        } catch {
            throw .storage(error)
        }
        guard generation != mine else { return }
        if let held { return try await store(held) }
        do throws(StorageError) {
            try await storage.clear()
        } catch {
            throw .storage(error)
        }
    }

    /// For a session that is not used any more. If the authority is away, it ends by itself. A
    /// renewal cancels the heart that runs it, so this is a task of its own.
    func endQuietly(_ session: StoredSession) async {
        let work = Task { try await self.endAtAuthority(session) }
        _ = await work.result
    }

    private func endAtAuthority(_ session: StoredSession) async throws(SessionError) {
        let request = APIRequest.delete("/postern/v1/sessions/\(session.details.id)")
        _ = try await send(
            request, application: session.authority.applicationId, token: session.token)
    }
}
