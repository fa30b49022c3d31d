package import Sessions

/// The live data that the console shows.
package protocol LiveFeed: Sendable {
    /// The live data of a board. Does not check ownership: the caller asks the frontend first.
    func live(of board: InstallationID) -> BoardLive
    /// Deletes a board's live data if any of it is older than `time`, because the board had another
    /// owner then.
    func forget(_ board: InstallationID, before time: Timestamp)
    func minutes(of board: InstallationID) -> MinuteCounts
    func lastData(of board: InstallationID) -> Timestamp?
    /// The numbers that a board sent and that arrived. Nil if they cannot be compared.
    func arrival(of board: InstallationID) -> Arrival?
    /// A stream of later events about the caller's boards, claims and sessions. With `filter.board`
    /// it also has the readings of that board. The caller must have a right to it; otherwise 101.
    /// The rights are read again before each event, so a share that ends ends its events.
    ///
    /// Throws 155 if the session or the authority already has its maximum of streams.
    func events(
        for caller: Caller, _ filter: EventFilter
    ) async throws(AuthorityError) -> any EventSource
}

extension LiveFeed {
    /// Deletes the live data of earlier owners. Call it before a board's live data is shown to its
    /// owner.
    package func keepToOwner(of board: Board) {
        forget(board.installation, before: board.ownedSince)
    }
}

/// Selects the events of a stream.
package struct EventFilter: Equatable, Sendable {
    package let board: InstallationID?
    /// Events of all users' boards. Administrators only.
    package let everyone: Bool

    package init(board: InstallationID? = nil, everyone: Bool = false) {
        self.board = board
        self.everyone = everyone
    }
}

/// One stream of events. It ends when its last reference is released.
package protocol EventSource: AnyObject, Sendable {
    /// Waits for the next event. Nil when the stream has ended.
    func next() async -> ConsoleEvent?
    /// Ends the stream, because its reader has gone.
    func close()
    /// Sets the action that cuts the connection at once. It runs if the reader is too slow, or did
    /// not take the last event.
    func onCut(_ action: @escaping @Sendable () -> Void)
}

/// One event in the stream of the console.
package enum ConsoleEvent: Equatable, Sendable {
    case hello(Timestamp)
    case board(Board)
    case minute(RunningMinute)
    case reading(Reading)
    case claim(Claim)
    /// The caller's sessions changed.
    case sessions
    case audit(AuditEntry)
    /// The owner of this board shares it no more with the caller. No event of it follows.
    case unshared(InstallationID)
    /// Nothing happened for a while.
    case quiet
    /// The session has ended; no event follows.
    case bye

    /// Whether the event may be dropped, because a later one says the same or it is one of many.
    package var isLossy: Bool {
        switch self {
        case .minute, .reading, .quiet: true
        case .hello, .board, .claim, .sessions, .audit, .unshared, .bye: false
        }
    }
}
