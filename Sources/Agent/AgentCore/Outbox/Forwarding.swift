package import Gate
import Sessions
import Wire

/// Why the upstream broker takes no writes for now.
package enum WriteHold: Equatable, Sendable, CustomStringConvertible {
    /// It does not let this board publish there.
    case forbidden
    /// It has had enough, or a fault of its own; in its words.
    case refused(String)

    package var description: String {
        switch self {
        case .forbidden: "the broker does not let this board publish"
        case .refused(let text): "the broker takes none for now (\(text))"
        }
    }
}

/// Where a board may publish its writes.
package struct PublishGrants: Equatable, Sendable {
    /// What the topics of the board's own data begin with.
    private let own: String
    /// What its session's scope grants elsewhere.
    private let elsewhere: [TopicFilter]

    package init(own: String, elsewhere: [TopicFilter]) {
        self.own = own
        self.elsewhere = elsewhere
    }

    /// Whether it is a topic of the board's own data. Asked for each write, so in a loop over
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
    /// What the forwarder told of the broker. Forbidden, the authority is asked whether the
    /// session lives: a 209 ends it; any other answer has the broker tried again.
    mutating func held(_ hold: WriteHold?, at instant: Instant) {
        if hold != uplink.hold {
            emit(hold.map { .log(.warning, "writes are held, none is lost: \($0)") }
                ?? .log(.info, "the upstream broker takes writes again"))
        }
        uplink.hold = hold
        // A write that was refused is in flight no more.
        expiredBefore = nil
        if hold == .forbidden, uplink.isReady { authenticate(at: instant) }
    }

    /// What made the connections end is gone: the next need not wait as if the last had failed.
    mutating func connectAnew(at instant: Instant) {
        guard uplink.phase == .idle, let due = uplink.retryAt else { return }
        uplink.backoff.reset()
        uplink.retryAt = min(due, instant.monotonic + .seconds(1))
    }

    /// The authority has said that the session lives.
    mutating func retryIfForbidden() {
        if uplink.hold == .forbidden { emit(.retryForwarding) }
    }

    /// After the commit of a scope that may have changed.
    mutating func tellGrantsIfNew() {
        if uplink.grantsAreUntold { tellGrants() }
    }

    /// Tells where writes may go. A scope that cannot be read makes no dead letters: then the
    /// broker alone says what it takes.
    mutating func tellGrants() {
        uplink.grantsAreUntold = false
        guard let held = records.session else { return }
        guard let document = held.scope else { return tellGrants(under: nil) }
        if let scope = try? Scope(document) { tellGrants(under: scope) }
    }

    private mutating func tellGrants(under scope: Scope?) {
        let own = "\(settings.topicRoot)/\(records.identity.installation)/data/"
        emit(.grant(PublishGrants(own: own, elsewhere: scope?.topics ?? [])))
    }
}
