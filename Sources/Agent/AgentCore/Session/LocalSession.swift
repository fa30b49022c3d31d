import Sessions
import Wire

/// The session as this board sees it: its state, and the state that programs on the bus know.
/// `BoardRecords` holds the session itself.
struct LocalSession: Sendable {
    /// The session's state when it was last computed.
    private(set) var life: SessionLife
    /// The state last published on `postern/session`. Nil before the first publication on this
    /// connection of the bus.
    private(set) var published: SessionNotice.State?
    /// The last published `final` flag: whether only a new provisioning helps.
    private var publishedIsFinal: Bool?
    /// Programs that wait for the list of the user's sessions.
    var readers = SessionReaders()
    var signOutTries = SignOutTries()

    init(life: SessionLife) { self.life = life }

    /// Takes a state that was computed from `life`, the time and the records.
    mutating func set(_ life: SessionLife) { self.life = life }

    mutating func take(_ event: SessionEvent) { life = life.after(event) }

    /// Remembers a notice with the present `final` flag as published. False: programs already
    /// know both.
    mutating func publish(_ notice: SessionNotice.State) -> Bool {
        let isFinal = life.isFinal
        guard !notice.tellsTheSame(as: published) || isFinal != publishedIsFinal else {
            return false
        }
        published = notice
        publishedIsFinal = isFinal
        return true
    }

    /// Makes the next state count as new, because the bus's broker may have kept another one.
    mutating func forgetPublished() { published = nil }
}

extension SessionNotice.State {
    /// Whether this notice contains nothing new for programs after `other`. The time of the last
    /// contact does not count: a heartbeat that changes nothing is not published.
    fileprivate func tellsTheSame(as other: Self?) -> Bool {
        switch (self, other) {
        case (.available(let new, _), .available(let old, _)): new == old
        case (.unavailable(let new), .unavailable(let old)): new == old
        default: false
        }
    }
}
