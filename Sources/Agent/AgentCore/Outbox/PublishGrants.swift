package import Gate
import Sessions
import Wire

/// What may leave a board: where it may publish, and the session's scope for writes that were
/// accepted before it was in force.
package struct PublishGrants: Sendable {
    /// The prefix of the board's own data topics.
    private let own: String
    /// Other topics that the session's scope grants.
    private let elsewhere: [TopicFilter]
    /// The scope that judges again; nil: none.
    private let gate: Gate?
    /// The last sequence number that was given before that scope was in force.
    private let lastBefore: Int64

    package init(own: String, scope: Scope?, lastBefore: Int64) {
        self.own = own
        elsewhere = scope?.topics ?? []
        gate = scope.map { Gate(policy: nil, scope: $0) }
        self.lastBefore = lastBefore
    }

    /// Whether this is a topic of the board's own data. It runs for each write, so it loops over
    /// bytes: the generic `starts(with:)` took 1 % of the agent's time.
    package func isOwn(_ topic: String) -> Bool {
        let (bytes, wanted) = (topic.utf8.span, own.utf8.span)
        guard bytes.count >= wanted.count else { return false }
        for index in wanted.indices where bytes[index] != wanted[index] { return false }
        return true
    }

    /// Why a write may not leave any more; nil if it may. The policy and the rates have judged it
    /// when it was accepted.
    package func refusal(of write: AcceptedWrite) -> String? {
        guard isOwn(write.topic) || elsewhere.contains(where: { $0.matches(write.topic) }) else {
            return "its topic is not granted any more"
        }
        guard write.sequence <= lastBefore, let gate else { return nil }
        let decision = gate.decide(Write(
            app: write.app, className: write.className, operation: write.operation,
            payload: write.payload))
        guard case .deny(let rejection) = decision else { return nil }
        let field = rejection.field.map { " (\($0))" } ?? ""
        return "\(rejection.rule)\(field): \(rejection.reason)"
    }
}

extension Agent {
    /// Sends the grants after the commit of a scope that may have changed.
    mutating func tellGrantsIfNew() {
        guard uplink.grantsAreUntold else { return }
        emit(.log(.info, "in force now: another scope of the session; the "
            + "\(outbox.queue.messages) queued messages are judged by it before they leave"))
        tellGrants()
    }

    /// Sends what may leave under the scope in force. A scope that cannot be read creates no
    /// dead letters: the broker alone decides then.
    mutating func tellGrants() {
        uplink.grantsTold()
        guard let held = records.session else { return }
        guard let document = held.scope else { return tellGrants(under: nil, of: held) }
        if let scope = try? Scope(document) { tellGrants(under: scope, of: held) }
    }

    private mutating func tellGrants(under scope: Scope?, of held: HeldSession) {
        emit(.grant(PublishGrants(
            own: "\(settings.topicRoot)/\(records.identity.installation)/data/", scope: scope,
            lastBefore: held.lastBeforeScope)))
    }
}
