package import Gate
import Sessions
import Wire

/// Why the upstream broker accepts no writes for now.
package enum WriteHold: Equatable, Sendable, CustomStringConvertible {
    /// The broker does not allow this board to publish.
    case forbidden
    /// The broker has reached a limit or has an internal error. The text is the broker's.
    case refused(String)

    package var description: String {
        switch self {
        case .forbidden: "the broker does not let this board publish"
        case .refused(let text): "the broker accepts none for now (\(text))"
        }
    }
}

/// The topics on which a board may publish its writes.
package struct PublishGrants: Equatable, Sendable {
    /// The prefix of the board's own data topics.
    private let own: String
    /// Other topics that the session's scope grants.
    private let elsewhere: [TopicFilter]

    package init(own: String, elsewhere: [TopicFilter]) {
        self.own = own
        self.elsewhere = elsewhere
    }

    /// Whether this is a topic of the board's own data. It runs for each write, so it loops over
    /// bytes: the generic `starts(with:)` took 1 % of the agent's time.
    package func isOwn(_ topic: String) -> Bool {
        let (bytes, wanted) = (topic.utf8.span, own.utf8.span)
        guard bytes.count >= wanted.count else { return false }
        for index in wanted.indices where bytes[index] != wanted[index] { return false }
        return true
    }

    package func allow(_ topic: String) -> Bool {
        isOwn(topic) || elsewhere.contains { $0.matches(topic) }
    }
}

extension Agent {
    /// Takes the forwarder's report about the broker. If publishing is forbidden, the agent asks
    /// the authority whether the session is valid. Error 209 ends the session. After a result the
    /// agent tries the broker again.
    mutating func held(_ hold: WriteHold?, at instant: Instant) {
        if hold != uplink.hold {
            emit(hold.map { .log(.warning, "writes are held, none is lost: \($0)") }
                ?? .log(.info, "the upstream broker accepts writes again"))
        }
        uplink.setHold(hold)
        // A refused write is no longer in flight, so it may expire.
        outbox.nothingIsInFlight()
        if hold == .forbidden, uplink.isReady { beginHeartbeat(at: instant) }
    }

    /// Tries the broker again, because the authority has confirmed the session.
    mutating func retryIfForbidden() {
        if uplink.hold == .forbidden { emit(.retryForwarding) }
    }

    /// Sends the grants after the commit of a scope that may have changed.
    mutating func tellGrantsIfNew() {
        if uplink.grantsAreUntold { tellGrants() }
    }

    /// Sends the topics on which writes may be published. A scope that cannot be read creates no
    /// dead letters: the broker alone decides then.
    mutating func tellGrants() {
        uplink.grantsTold()
        guard let held = records.session else { return }
        guard let document = held.scope else { return tellGrants(under: nil) }
        if let scope = try? Scope(document) { tellGrants(under: scope) }
    }

    private mutating func tellGrants(under scope: Scope?) {
        let own = "\(settings.topicRoot)/\(records.identity.installation)/data/"
        emit(.grant(PublishGrants(own: own, elsewhere: scope?.topics ?? [])))
    }
}
