/// The state of a board's session: the state machine behind `postern/session`. It knows no clock
/// and no token; the caller reports each event.
///
/// `Provisioning/SESSIONS.md` has the table of all states and events. A test compares the two cell
/// by cell.
package enum SessionLife: Hashable, Sendable {
    /// There is no session, and none has ended.
    case unclaimed
    /// The authority has answered over the present connection.
    case available
    /// Usable, but the authority has not answered since the start or since the connection was lost.
    case outOfContact
    /// Kept but not used: the last contact is longer ago than the grace.
    case withheld
    /// Kept but not used: by the board's clock the session has expired.
    case expired
    /// The session has ended; its tokens are destroyed.
    case over(SessionEnd)
    /// The session's record exists but cannot be opened.
    case unreadable
}

/// The reasons for which a session ends for good. The raw values are the contract's reasons.
package enum SessionEnd: String, Sendable, CaseIterable {
    case expired
    case revoked
    case signedOut = "signed-out"
    case reuse

    package var reason: UnavailableReason {
        switch self {
        case .expired: .expired
        case .revoked: .revoked
        case .signedOut: .signedOut
        case .reuse: .reuse
        }
    }
}

/// The events that change a session's state on its board.
package enum SessionEvent: Hashable, Sendable {
    /// At the start: the vault holds a session.
    case restored
    /// At the start: the vault's session cannot be opened.
    case unreadable
    /// A provisioning was accepted.
    case provisioned
    /// The authority has answered a request of this session.
    case contact
    case uplinkLost
    /// By the board's clock, the last contact is now longer ago than the grace, or no longer so.
    case graceEnded
    case graceRegained
    /// By the board's clock, the session's expiry has passed, or is in the future again because the
    /// session was extended or the clock was corrected.
    case expiryReached
    case expiryUnreached
    /// At the start: the vault says that the session ended for this reason. Later: 209, a
    /// revocation or a sign-out.
    case ended(SessionEnd)
}

extension SessionLife {
    /// The state that follows `event`. Every state lists every event: none falls to a default.
    package func after(_ event: SessionEvent) -> SessionLife {
        switch self {
        case .unclaimed: Self.afterUnclaimed(event)
        case .available, .outOfContact: afterUsable(event)
        case .withheld: Self.afterWithheld(event)
        case .expired: Self.afterExpired(event)
        case .over, .unreadable: afterGone(event)
        }
    }

    private static func afterUnclaimed(_ event: SessionEvent) -> SessionLife {
        switch event {
        case .restored: .outOfContact
        case .unreadable: .unreadable
        case .provisioned: .available
        case .ended(let end): .over(end)
        case .contact, .uplinkLost, .graceEnded, .graceRegained, .expiryReached,
            .expiryUnreached: .unclaimed
        }
    }

    private func afterUsable(_ event: SessionEvent) -> SessionLife {
        switch event {
        case .restored, .graceRegained, .expiryUnreached: self
        case .unreadable: .unreadable
        case .provisioned, .contact: .available
        case .uplinkLost: .outOfContact
        case .graceEnded: .withheld
        case .expiryReached: .expired
        case .ended(let end): .over(end)
        }
    }

    private static func afterWithheld(_ event: SessionEvent) -> SessionLife {
        switch event {
        case .restored, .uplinkLost, .graceEnded, .expiryUnreached: .withheld
        case .unreadable: .unreadable
        case .provisioned, .contact: .available
        case .graceRegained: .outOfContact
        case .expiryReached: .expired
        case .ended(let end): .over(end)
        }
    }

    private static func afterExpired(_ event: SessionEvent) -> SessionLife {
        switch event {
        case .restored, .contact, .uplinkLost, .graceEnded, .graceRegained,
            .expiryReached: .expired
        case .unreadable: .unreadable
        case .provisioned: .available
        case .expiryUnreached: .outOfContact
        case .ended(let end): .over(end)
        }
    }

    /// Only a new provisioning brings an ended session back. The board may learn that a session
    /// ended before it learns why. The reason is then `revoked` until the authority gives another
    /// one. An expired session could be renewed, so another reason may follow.
    private func afterGone(_ event: SessionEvent) -> SessionLife {
        switch event {
        case .provisioned: .available
        case .unreadable: .unreadable
        case .ended(let end):
            self == .over(.revoked) || self == .over(.expired) || self == .unreadable
                ? .over(end) : self
        case .restored, .contact, .uplinkLost, .graceEnded, .graceRegained, .expiryReached,
            .expiryUnreached: self
        }
    }

    /// True if only a new provisioning brings a session back. False if the session may come back by
    /// itself, or if writes wait for it. Nil if the session is usable or never existed.
    package var isFinal: Bool? {
        switch self {
        case .unclaimed, .available, .outOfContact: nil
        case .withheld, .expired, .unreadable: false
        case .over: true
        }
    }

    /// The state that the board's apps see.
    package var state: SessionState {
        switch self {
        case .unclaimed: .unavailable(.unclaimed)
        case .available, .outOfContact: .available
        case .withheld: .unavailable(.offline)
        case .expired: .unavailable(.expired)
        case .over(let end): .unavailable(end.reason)
        case .unreadable: .unavailable(.unreadable)
        }
    }
}

extension SessionLife: CaseIterable, CustomStringConvertible {
    package static let allCases: [Self] = [
        .unclaimed, .available, .outOfContact, .withheld, .expired, .unreadable,
    ] + SessionEnd.allCases.map(Self.over)

    package var description: String {
        switch self {
        case .unclaimed: "unclaimed"
        case .available: "available"
        case .outOfContact: "out of contact"
        case .withheld: "withheld"
        case .expired: "expired"
        case .over(let end): "over (\(end.rawValue))"
        case .unreadable: "unreadable"
        }
    }
}

extension SessionEvent: CaseIterable, CustomStringConvertible {
    package static let allCases: [Self] = [
        .restored, .unreadable, .provisioned, .contact, .uplinkLost, .graceEnded,
        .graceRegained, .expiryReached, .expiryUnreached,
    ] + SessionEnd.allCases.map(Self.ended)

    package var description: String {
        switch self {
        case .restored: "restored"
        case .unreadable: "unreadable"
        case .provisioned: "provisioned"
        case .contact: "contact"
        case .uplinkLost: "uplink lost"
        case .graceEnded: "grace ended"
        case .graceRegained: "grace regained"
        case .expiryReached: "expiry reached"
        case .expiryUnreached: "expiry unreached"
        case .ended(let end): "ended (\(end.rawValue))"
        }
    }
}
