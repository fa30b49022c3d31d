import Foundation

extension SessionClient {
    /// The boards of the person.
    public func boards() async throws(SessionError) -> [PairedBoard] {
        try await ask(.get("/postern/v1/boards"), as: Results<PairedBoard>.self).results
    }

    /// One board, by its installation id.
    public func board(_ id: PairedBoard.ID) async throws(SessionError) -> PairedBoard {
        try await ask(.get("/postern/v1/boards/\(try id.pathPart)"), as: PairedBoard.self)
    }

    /// The boards now, and again whenever one of them changes. A reader that is slow gets the
    /// newest list. Ends with an error when the session does, or when another person logs in; a
    /// broken connection is opened again.
    public nonisolated func boardUpdates() -> AsyncThrowingStream<[PairedBoard], any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { updates in
            let work = Task {
                do {
                    let person = await self.user?.id
                    var boards: [PairedBoard.ID: PairedBoard] = [:]
                    for try await event in self.events() {
                        switch event {
                        case .board(let board): boards[board.id] = board
                        case .connected, .sessionsChanged:
                            // A board that was released or paired changes the sessions, too.
                            let list = try await self.patiently { () throws(SessionError) in
                                try await self.boards()
                            }
                            guard await self.user?.id == person else {
                                throw SessionError.cancelled
                            }
                            boards = Dictionary(list.map { ($0.id, $0) }) { $1 }
                        case .reading: continue
                        }
                        updates.yield(boards.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) })
                    }
                    updates.finish()
                } catch {
                    updates.finish(throwing: error)
                }
            }
            updates.onTermination = { _ in work.cancel() }
        }
    }

    /// Events as they happen: of the person's boards, or of one board with what it writes. Ends
    /// with an error when the session does, or when another person logs in; a broken connection is
    /// opened again.
    public nonisolated func events(
        of board: PairedBoard.ID? = nil
    ) -> AsyncThrowingStream<BoardEvent, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingOldest(1000)) { events in
            let work = Task {
                do throws(SessionError) {
                    try await self.follow(board, events)
                } catch {
                    events.finish(throwing: error)
                }
            }
            events.onTermination = { _ in work.cancel() }
        }
    }

    private typealias Events = AsyncThrowingStream<BoardEvent, any Error>.Continuation

    /// Opens the stream, and again whenever it breaks, until the session or the reader ends. It is
    /// the stream of one person: it ends if another logs in.
    private func follow(_ board: PairedBoard.ID?, _ events: Events) async throws(SessionError) {
        let first = Duration.seconds(1)
        var wait = first
        let person = held?.user.id
        while !Task.isCancelled {
            do throws(SessionError) {
                guard held == nil || held?.user.id == person else { throw .cancelled }
                try await stream(board) { event throws(SessionError) in
                    wait = first
                    if case .dropped = events.yield(event) {
                        throw .invalid("the app reads events too slowly")
                    }
                }
            } catch {
                // A renewal has ended the session of the stream: the next one is there already.
                let isRenewed = error == .cancelled && held != nil && held?.user.id == person
                guard isRenewed || error.isTemporary, !Task.isCancelled else { throw error }
            }
            await pause(wait * Double.random(in: 0.75...1.25))
            wait = min(wait * 2, .seconds(30))
        }
        throw .cancelled
    }

    /// One connection, until it breaks.
    private func stream(
        _ board: PairedBoard.ID?, _ take: (BoardEvent) throws(SessionError) -> Void
    ) async throws(SessionError) {
        guard let session = held else { throw .loggedOut }
        let began = generation
        var request = APIRequest.get("/postern/v1/events")
        if let board { request.query = [URLQueryItem(name: "board", value: try board.pathPart)] }
        let sent = try address.request(
            request, application: session.authority.applicationId, token: session.token,
            // The authority sends something every 15 seconds.
            patience: .seconds(60))
        let (arrived, source) = AsyncThrowingStream.makeStream(
            of: ServerSentEvent.self, bufferingPolicy: .bufferingOldest(1000))
        let stop = transport.start(sent, EventReceiver(source))
        defer { stop() }
        do {
            for try await event in arrived {
                if event.name == "bye" {
                    throw SessionError.refused(AuthorityRefusal(
                        status: 200, code: 209, text: "the session is over", name: nil))
                }
                guard generation == began else { throw SessionError.cancelled }
                if let event = try BoardEvent(event) { try take(event) }
            }
        } catch let error as SessionError {
            throw await judged(error, from: began)
        } catch {
            throw .cancelled
        }
        if Task.isCancelled { throw .cancelled }
        throw .transport("the stream of events has ended")
    }

    /// Repeats what fails for a while only.
    func patiently<Value: Sendable>(
        _ work: () async throws(SessionError) -> Value
    ) async throws(SessionError) -> Value {
        while true {
            do throws(SessionError) {
                return try await work()
            } catch where error.isTemporary {
                await pause(.seconds(2))
                if Task.isCancelled { throw .cancelled }
            }
        }
    }

    func pause(_ duration: Duration) async { try? await Task.sleep(for: duration) }
}

extension BoardEvent {
    /// Nil for an event that this library has no use for.
    init?(_ event: ServerSentEvent) throws(SessionError) {
        let reader = JSONDecoder()
        switch event.name {
        case "hello": self = .connected
        case "board": self = .board(try reader.read(PairedBoard.self, event.data))
        case "reading": self = .reading(try reader.read(BoardReading.self, event.data))
        case "sessions": self = .sessionsChanged
        default: return nil
        }
    }
}
