import Foundation

/// The most bytes of an answer: 10,000 boards fit.
private let answerLimit = 16 << 20

/// All requests go through here, so a 209 has one handler.
extension SessionClient {
    /// The answer to a request under the session.
    func ask<Form: Decodable>(
        _ request: APIRequest, as form: Form.Type = NothingNeeded.self
    ) async throws(SessionError) -> Form {
        guard let session = held else { throw .loggedOut }
        let began = generation
        do throws(SessionError) {
            let answer = try await send(
                request, application: session.authority.applicationId, token: session.token,
                as: form)
            if generation == began { authorityAnswered() }
            return answer
        } catch {
            let judgement = await judged(error, from: began)
            // A renewal came in between: the same person has another session.
            guard judgement == .cancelled, generation != began, !Task.isCancelled,
                held?.user.id == session.user.id
            else { throw judgement }
            return try await ask(request, as: form)
        }
    }

    /// The answer to a request under a token, or under none.
    func send<Form: Decodable>(
        _ request: APIRequest, application: String?, token: BearerToken?,
        as form: Form.Type = NothingNeeded.self
    ) async throws(SessionError) -> Form {
        let sent = try address.request(
            request, application: application, token: token, patience: options.patience)
        let (status, body) = try await transport.answer(to: sent, limit: answerLimit)
        guard (200...299).contains(status) else { throw SessionError(status: status, body: body) }
        return try JSONDecoder().read(form, body)
    }

    /// The one handler for 209: whatever was asked, the session of that time ends.
    func judged(_ error: SessionError, from began: Int) async -> SessionError {
        guard error.isSessionOver else { return error }
        guard generation == began else { return held == nil ? .loggedOut : .cancelled }
        await end(.ended)
        return .sessionOver
    }

    /// Forgets the session: clears the storage, and then announces the reason. Returns the error if
    /// the storage could not be cleared.
    @discardableResult
    func end(_ reason: SessionUnavailability) async -> StorageError? {
        generation += 1
        held = nil
        renewal = RenewalState()
        beat()
        do throws(StorageError) {
            try await storage.clear()
            if held == nil { set(.unavailable(reason)) }
            return nil
        } catch {
            // The record may come back at the next launch, and its token opens nothing then.
            if held == nil { set(.unavailable(.storageAway(error))) }
            return error
        }
    }

    private func authorityAnswered() {
        guard var session = held else { return }
        session.validatedAt = Date()
        held = session
        set(session.availability)
    }
}
