import AuthorityBroker
import AuthorityCore
import Logging
import Sessions

/// Sends changes to every open event stream. It reads them from the store while a stream is open,
/// so it does not matter which process made a change. It reads when the store reports a change, and
/// every few seconds. If the store cannot report changes, it reads several times a second. Readings
/// and minutes come from `LiveBoards`, in memory.
actor EventHub: LiveFeed {
    fileprivate struct Stream {
        let queue: EventQueue
        let caller: Caller
        let filter: EventFilter
        /// What others share with the caller, and when that was read.
        var shares: [InstallationID: ShareRecord] = [:]
        var readAt = Timestamp(milliseconds: 0)
    }

    private let authority: Authority
    private nonisolated let boards: LiveBoards
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger
    private var streams: [Int: Stream] = [:]
    private var lastStream = 0
    private var mark: ChangePosition?
    private var isOver = false
    private var lastCheck = ContinuousClock.now
    private nonisolated let changes: AsyncStream<Void>?
    private var hasChanged = false
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    static let streamsOfSession = 8
    /// This limit stops a few users from taking all streams.
    static let streamsOfUser = 32
    static let streamLimit = 512
    private static let turn = Duration.milliseconds(50)
    private static let minutesOfTurn = 500
    /// The time that streams stay open while the store cannot confirm their sessions.
    private static let trust = Duration.seconds(5)

    init(
        authority: Authority, live: LiveBoards, changes: AsyncStream<Void>? = nil,
        clock: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        self.changes = changes
        self.authority = authority
        boards = live
        self.clock = clock
        self.logger = logger
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    nonisolated func live(of board: InstallationID) -> BoardLive { boards.live(of: board) }
    nonisolated func forget(_ board: InstallationID, before time: Timestamp) {
        boards.forget(board, before: time)
    }
    nonisolated func minutes(of board: InstallationID) -> MinuteCounts {
        boards.minutes(of: board)
    }
    nonisolated func lastData(of board: InstallationID) -> Timestamp? {
        boards.lastData(of: board)
    }
    nonisolated func arrival(of board: InstallationID) -> Arrival? { boards.arrival(of: board) }

    /// Works while a stream is open, until its task is cancelled. Then it ends every stream.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            if let changes {
                group.addTask { for await _ in changes { await self.noteChange() } }
            }
            for await _ in wakes {
                var turns = Turns(isTold: changes != nil)
                while !streams.isEmpty, !Task.isCancelled {
                    await work(turns.next(hasChanged: hasChanged))
                    await pause(Self.turn)
                }
                if Task.isCancelled { break }
            }
            group.cancelAll()
        }
        close()
    }

    private func noteChange() { hasChanged = true }

    /// Ends every stream and refuses new ones. A page reconnects by itself, to another authority.
    func close() {
        isOver = true
        for stream in streams.values { stream.queue.close() }
        streams = [:]
    }

    var streamCount: Int { streams.count }
}

extension EventHub {
    func events(
        for caller: Caller, _ filter: EventFilter
    ) async throws(AuthorityError) -> any EventSource {
        guard !caller.session.restricted, !filter.everyone || caller.user.isAdministrator else {
            throw .refused(Refusal(.forbidden, "this session may not read events"))
        }
        if let board = filter.board { _ = try await authority.board(board, by: caller) }
        if mark == nil {
            let now = try await authority.newsMark()
            if mark == nil { mark = now }
        }
        // Read before it opens: the first event may be about a shared board.
        return try open(caller, filter, try await authority.streamRights(of: [caller]))
    }

    private func open(
        _ caller: Caller, _ filter: EventFilter, _ rights: StreamRights
    ) throws(AuthorityError) -> any EventSource {
        let own = streams.values.count {
            $0.caller.session.objectID == caller.session.objectID
        }
        let ofUser = streams.values.count { $0.caller.user.objectID == caller.user.objectID }
        guard !isOver, own < Self.streamsOfSession, ofUser < Self.streamsOfUser,
            streams.count < Self.streamLimit
        else {
            var refusal = Refusal(.rateLimit, """
                too many event streams are open; close some, or wait 30 s, then try again
                """)
            refusal.retryAfter = .seconds(30)
            throw .refused(refusal)
        }
        lastStream += 1
        let number = lastStream
        let queue = EventQueue()
        queue.offer(.hello(clock()))
        if streams.isEmpty { lastCheck = .now }
        var stream = Stream(queue: queue, caller: caller, filter: filter)
        stream.take(rights)
        streams[number] = stream
        if let board = filter.board { boards.watch(board) }
        boards.setWatched(true)
        wake.yield()
        return EventHandle(queue) { [weak self] in
            Task { await self?.remove(number) }
        }
    }

    private func remove(_ number: Int) {
        guard let stream = streams.removeValue(forKey: number) else { return }
        if let board = stream.filter.board { boards.unwatch(board) }
        guard streams.isEmpty else { return }
        boards.setWatched(false)
        mark = nil
    }
}

extension EventHub {
    /// The work of each turn. Each kind of work has its own interval.
    fileprivate struct Turns {
        /// Whether the store reports changes.
        let isTold: Bool
        private var count = 0

        init(isTold: Bool) { self.isTold = isTold }

        struct Work {
            let sessions: Bool
            let news: Bool
            let minutes: Bool
            let quiet: Bool
        }

        mutating func next(hasChanged: Bool) -> Work {
            defer { count = (count + 1) % 200 }
            // Many changes are read no more often than without reports. A session also ends by time
            // alone, and a report may be lost with its connection, so it reads without reports too.
            let isNews = count % 4 == 0 && (hasChanged || !isTold || count % 40 == 0)
            return Work(
                sessions: isTold ? isNews || count % 20 == 0 : count % 5 == 0, news: isNews,
                minutes: count % 40 == 39, quiet: count == 199)
        }
    }

    private func work(_ turn: Turns.Work) async {
        do throws(AuthorityError) {
            // First end the streams that may receive nothing more.
            if turn.news { hasChanged = false }
            // After a pause of this process the last check is old, and the store is not away.
            let isLate = ContinuousClock.now - lastCheck > Self.trust / 2
            if turn.sessions || isLate { try await endStreams() }
            if turn.news { try await tellNews() }
            try await tellData(
                boards.takeReadings(),
                turn.minutes ? boards.takeMinutes(limit: Self.minutesOfTurn) : [])
        } catch {
            if !Task.isCancelled { logger.debug("the store cannot be watched: \(error.words)") }
        }
        let now = ContinuousClock.now
        let isBlind = now - lastCheck > Self.trust
        for (number, stream) in streams {
            if turn.quiet { stream.queue.offer(.quiet) }
            if isBlind { stream.queue.close() }
            if stream.queue.check(at: now) { remove(number) }
        }
    }

    /// Ends the streams whose session has ended; they receive nothing more. Ends the events of
    /// boards that are shared no more.
    private func endStreams() async throws(AuthorityError) {
        let callers = Dictionary(
            streams.values.map { ($0.caller.session.objectID, $0.caller) },
            uniquingKeysWith: { first, _ in first })
        let rights = try await authority.streamRights(of: Array(callers.values))
        lastCheck = .now
        for number in streams.keys { streams[number]?.take(rights) }
    }

    private func tellNews() async throws(AuthorityError) {
        while let seen = mark {
            let news = try await authority.news(since: seen)
            // All streams may have closed, and new ones opened, during the read.
            guard mark == seen else { return }
            if !news.isEmpty { try await endStreams() }
            guard mark == seen else { return }
            mark = news.mark
            for stream in streams.values { stream.tell(news) }
            guard news.isPartial, !Task.isCancelled else { return }
        }
    }

    /// Sends readings and minutes to the streams of the users who own the boards now, and of the
    /// people who have shares of them.
    private func tellData(
        _ readings: [Reading], _ minutes: [RunningMinute]
    ) async throws(AuthorityError) {
        let concerned = Set(readings.map(\.board)).union(minutes.map(\.board))
        guard !concerned.isEmpty else { return }
        let owners = try await authority.owners(of: concerned)
        // A stream whose session has ended by now receives none of it.
        try await endStreams()
        for stream in streams.values {
            for reading in readings where reading.board == stream.filter.board {
                guard let right = stream.right(to: reading.board, of: owners[reading.board]),
                    right.shows(reading.className)
                else { continue }
                stream.queue.offer(.reading(reading))
            }
            for minute in minutes
            where stream.right(to: minute.board, of: owners[minute.board])?.showsActivity == true {
                stream.queue.offer(.minute(minute))
            }
        }
    }
}

extension EventHub.Stream {
    /// What the caller may see of a board in this stream. Nil: nothing.
    func right(to board: InstallationID, of owner: UserID?) -> BoardRight? {
        guard let owner else { return nil }
        let right = BoardRight(
            of: caller.user.objectID, isAdministrator: caller.user.isAdministrator,
            onBoardOf: owner, shares[board], at: readAt)
        // The list of an administrator has the own and the shared boards.
        return right == .administrator(nil) && !seesAll(board) ? nil : right
    }

    /// Whether an administrator asked for the boards of all owners.
    private func seesAll(_ board: InstallationID) -> Bool {
        caller.user.isAdministrator && (filter.everyone || filter.board == board)
    }

    /// Takes the rights as they are now. Events that wait and need a right that ended are dropped.
    mutating func take(_ rights: StreamRights) {
        guard !rights.over.contains(caller.session.objectID) else { return queue.close(.bye) }
        // A stream that opened during the read was not asked about.
        guard let now = rights.shares[caller.user.objectID] else { return }
        for (board, share) in shares
        where now[board]?.terms != share.terms && !seesAll(board) {
            queue.drop(board)
            if now[board] == nil { queue.offer(.unshared(board)) }
        }
        (shares, readAt) = (now, rights.at)
    }

    func tell(_ news: News) {
        for board in news.boards {
            guard let right = right(to: board.installation, of: board.owner.objectID) else {
                continue
            }
            queue.offer(.board(board.seen(by: right)))
        }
        for news in news.claims where news.claimant == caller.user.objectID {
            queue.offer(.claim(news.claim))
        }
        if news.users.contains(caller.user.objectID) { queue.offer(.sessions) }
        guard caller.user.isAdministrator else { return }
        for entry in news.entries { queue.offer(.audit(entry)) }
    }
}
