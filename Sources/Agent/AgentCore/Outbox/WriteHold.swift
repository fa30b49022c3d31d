import Sessions

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
}
