package import Sessions
import Wire

/// What becomes of a request that came while there was too much to do.
package enum TriagedRequest: Equatable, Sendable {
    /// It is done all the same, in its turn.
    case take
    /// Nothing was done; to be published on the board's inbox, not retained.
    case refused(MessageID, [UInt8])
    case dropped(DropReason)
}

extension Authority {
    /// Refuses a request by name, or has it done after all. Nothing is written and no reply is
    /// kept: the board repeats the request under its id, and a refresh that was acted on before
    /// is answered then as it was.
    ///
    /// Heartbeats, lists and what nobody knows or can read are refused first, refreshes while the
    /// load is severe, and never what ends a session or answers a provisioning: the board must not
    /// be kept from those, and they are few. What was refused once is done when it comes again,
    /// unless nothing helps, so that no board is put off for ever. It costs one opening and one
    /// sealing and no transaction, about half of a heartbeat; the caller bounds how many.
    ///
    /// - Parameter wasRefused: whether a request of this id was refused before.
    package func triage(
        _ payload: [UInt8], from board: InstallationID, at level: LoadLevel,
        wasRefused: (MessageID) -> Bool
    ) async throws(AuthorityError) -> TriagedRequest {
        let plaintext: [UInt8]
        let sender: Sender
        switch try await openByStore(payload, from: board) {
        case .opened(let text, let by): (plaintext, sender) = (text, by)
        case .dropped(let reason): return .dropped(reason)
        }
        let id: MessageID
        do throws(UnreadableMessage) {
            let message = try BoardMessage(parsing: plaintext)
            guard message.body.mayBeRefused(at: level) else { return .take }
            id = message.id
        } catch {
            // It would cost a transaction, too.
            guard let own = error.id else { return .dropped(.unreadable) }
            id = own
        }
        if level < .drowning, wasRefused(id) { return .take }
        var refusal = Refusal.overloaded
        refusal.retryAfter = level.retryAfter
        let reply = Reply(re: id, now: clock(), outcome: .error(refusal))
        return .refused(id, try sealed(reply, to: sender))
    }
}

extension BoardMessage.Body {
    /// Whether an authority under so much load may leave it for later.
    func mayBeRefused(at level: LoadLevel) -> Bool {
        switch self {
        case .authenticate, .list, .user, .unknown: level >= .heavy
        case .refresh: level >= .severe
        case .revoke, .sessionEnded, .provisionAccepted, .provisionRejected: false
        }
    }
}

extension Refusal {
    /// Nothing was done, nothing is over, and the same may be asked later.
    package static let overloaded = Refusal(
        .rateLimit, "overloaded; ask again later", name: .overloaded)
}
