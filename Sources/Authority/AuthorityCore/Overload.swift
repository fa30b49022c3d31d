package import Sessions
import Wire

/// The decision about a request under high load.
package enum TriagedRequest: Equatable, Sendable {
    /// Handle it in its turn.
    case take
    /// Not handled. Publish this refusal on the board's inbox, not retained.
    case refused(MessageID, [UInt8])
    case dropped(DropReason)
}

extension Authority {
    /// Refuses a request with a named refusal, or lets it be handled. A refusal writes nothing and
    /// stores no reply. The board repeats the request with the same id. A refresh that was handled
    /// before then gets its stored reply.
    ///
    /// Refused first: heartbeats, lists, user requests, and unknown or unreadable messages.
    /// Refreshes are refused from severe load on. Messages that end a session or answer a
    /// provisioning are never refused: they must get through, and they are few. A request that was
    /// refused once is handled when it comes again, unless the load is `drowning`. So no board
    /// waits for ever. A refusal costs one opening, one sealing and no transaction, about half of a
    /// heartbeat. The caller limits how many there are.
    ///
    /// - Parameter wasRefused: whether a request with this id was refused before.
    package func triage(
        _ payload: [UInt8], from board: InstallationID, at level: LoadLevel,
        wasRefused: (MessageID) -> Bool
    ) async throws(AuthorityError) -> TriagedRequest {
        let plaintext: [UInt8]
        let sender: Sender
        switch try await openByStore(payload, from: board) {
        case .opened(let text, let by): (plaintext, sender) = (text, by)
        case .dropped(let reason):
            if reason == .unknownBoard, level < .drowning, try await servesPreparedClaim(board) {
                return .take
            }
            return .dropped(reason)
        }
        let id: MessageID
        do throws(UnreadableMessage) {
            let message = try BoardMessage(parsing: plaintext)
            guard message.body.mayBeRefused(at: level) else { return .take }
            id = message.id
        } catch {
            // Handling an unreadable message would cost a transaction, too.
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
    /// Whether this message may be refused at this load.
    func mayBeRefused(at level: LoadLevel) -> Bool {
        switch self {
        case .authenticate, .list, .user, .saveConfiguration, .getConfiguration, .unknown:
            level >= .heavy
        case .refresh: level >= .severe
        // Only a final one has a reply.
        case .commandResult(let result): level >= .severe && result.isFinal
        case .revoke, .sessionEnded, .sessionConfirmed, .provisionAccepted,
            .provisionRejected: false
        }
    }
}

extension Refusal {
    /// The request was not handled, no session has ended, and the board may ask the same later.
    package static let overloaded = Refusal(
        .rateLimit, "overloaded; ask again later", name: .overloaded)
}
