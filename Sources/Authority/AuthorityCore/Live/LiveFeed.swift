package import Sessions

/// What the console shows while it happens.
package protocol LiveFeed: Sendable {
    /// Nothing is checked here: the caller has asked the frontend whose the board is.
    func live(of board: InstallationID) -> BoardLive
    /// Forgets a board of which anything is known from before `time`: another had it then.
    func forget(_ board: InstallationID, before time: Timestamp)
    func minutes(of board: InstallationID) -> MinuteCounts
    func lastData(of board: InstallationID) -> Timestamp?
    /// What a board sent beside what arrived; nil where that cannot be compared.
    func arrival(of board: InstallationID) -> Arrival?
    /// What happens from now on to what is the caller's; with `wish.board` the readings of one
    /// board too, which must be his own, or anyone's for an administrator (101).
    ///
    /// Throws 155 where the session or the authority has as many streams as may be.
    func events(
        for caller: Caller, _ wish: EventWish
    ) async throws(AuthorityError) -> any EventSource
}

extension LiveFeed {
    /// To be called before anything of a board is shown to its owner.
    package func keepToOwner(of board: Board) {
        forget(board.installation, before: board.ownedSince)
    }
}

package struct EventWish: Equatable, Sendable {
    package let board: InstallationID?
    /// Of everyone's boards; administrators only.
    package let everyone: Bool

    package init(board: InstallationID? = nil, everyone: Bool = false) {
        self.board = board
        self.everyone = everyone
    }
}

/// One stream of events. It ends when nobody holds it any more.
package protocol EventSource: AnyObject, Sendable {
    /// The next one, waited for; nil once the stream is over.
    func next() async -> ConsoleEvent?
    /// Nobody reads any more.
    func close()
    /// What to do when the stream is to be cut at once, whoever still reads: its reader stayed
    /// behind, or did not take the last event.
    func onCut(_ action: @escaping @Sendable () -> Void)
}

package enum ConsoleEvent: Equatable, Sendable {
    case hello(Timestamp)
    case board(Board)
    case minute(RunningMinute)
    case reading(Reading)
    case claim(Claim)
    /// One's sessions are not what they were.
    case sessions
    case audit(AuditEntry)
    /// Nothing happened for a while.
    case quiet
    /// The session is over; nothing follows.
    case bye

    /// May be lost: a later one says the same, or it is one of many.
    package var isLossy: Bool {
        switch self {
        case .minute, .reading, .quiet: true
        case .hello, .board, .claim, .sessions, .audit, .bye: false
        }
    }
}
