import Gate

/// An app of the board: a program that writes to the agent.
///
/// It connects in the background, and again after each break. A write returns its number once the
/// agent has it on disk. Until then it is sent again, under one key, so the agent never stores it
/// twice, whatever restarts meanwhile.
///
/// While the queue is full, or a rate is exceeded, or there is no session for now, a write waits
/// and tries again until `timeout`.
public final class App: Sendable {
    /// The name of the app. It is in the topics of its writes.
    public let name: String
    /// The longest time that a call waits.
    public let timeout: Duration
    private let link: AppLink
    private let running: Task<Void, Never>

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 of `a-z`, `0-9` and `-`.
    ///   - bus: `mqtt://host:port` or `unix:/path`. If nil: `$POSTERN_BUS`, the socket of the
    ///     board's broker if this user may use it, or `mqtt://127.0.0.1:1883`.
    ///   - username: The login at the bus. If nil: the name.
    ///   - password: If nil, the file that `postern-agent-app add NAME --user USER` has made, or
    ///     `NAME.password` in `$CREDENTIALS_DIRECTORY`.
    ///   - timeout: The longest time that a call waits.
    /// - Throws: `AppError.invalid`, if a parameter is malformed or this user may not read the
    ///   login.
    public init(
        _ name: String, bus: String? = nil, username: String? = nil, password: String? = nil,
        timeout: Duration = .seconds(30)
    ) throws(AppError) {
        let login = try AppLogin(app: name, bus: bus, username: username, password: password)
        self.name = name
        self.timeout = timeout
        let link = AppLink(login)
        self.link = link
        running = Task { await link.run() }
    }

    deinit { running.cancel() }

    /// Makes a record of this class.
    ///
    /// - Parameters:
    ///   - className: The class of the record, such as `Reading`.
    ///   - object: The record, which becomes JSON. A `Date` becomes seconds since 1970.
    ///   - key: 1 to 64 bytes. A program that was killed may send the same write again with the
    ///     same key, and gets the first number. The agent knows a key for 10 minutes. Use a key for
    ///     one write only. If nil: a new one.
    /// - Returns: The number of the write.
    @discardableResult
    public func create(
        _ className: String, _ object: some Encodable & Sendable, key: String? = nil
    ) async throws(AppError) -> Int {
        try await send(AppWrite(.create, className, nil, AppWrite.encode(object), key: key))
    }

    /// Changes the record of this class that has this id. The same as `create` otherwise.
    @discardableResult
    public func update(
        _ className: String, id: String, _ object: some Encodable & Sendable, key: String? = nil
    ) async throws(AppError) -> Int {
        try await send(AppWrite(.update, className, id, AppWrite.encode(object), key: key))
    }

    /// Deletes the record of this class that has this id. The same as `create` otherwise.
    @discardableResult
    public func delete(
        _ className: String, id: String, key: String? = nil
    ) async throws(AppError) -> Int {
        try await send(AppWrite(.delete, className, id, Array("{}".utf8), key: key))
    }

    /// The session now. Throws `AppError.unavailable` if the agent publishes none in time, and
    /// `AppError.invalid` if the app is closed.
    public func session() async throws(AppError) -> AppSession {
        let found = await withTaskGroup(of: AppSession?.self) { [sessions, timeout] group in
            group.addTask {
                for await session in sessions { return session }
                return nil
            }
            group.addTask {
                _ = await AppLink.sleep(timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let found { return found }
        guard !Task.isCancelled else { throw .cancelled }
        guard await !link.isClosed else { throw .closed }
        throw .unavailable(AppError.Unavailable(
            key: nil, text: "the agent has published no session"))
    }

    /// The session now, and at each change, for one reader. A slow reader receives the newest only.
    /// It ends with `close`, or when the app is freed.
    public var sessions: AsyncStream<AppSession> {
        let (sessions, reader) = AsyncStream.makeStream(
            of: AppSession.self, bufferingPolicy: .bufferingNewest(1))
        Task { [link] in await link.add(reader) }
        return sessions
    }

    /// Calls the handler with each command that a person sends to this app. What it returns is the
    /// answer: at most 16 KiB as JSON. If it throws, or the command is no `Content`, the answer is
    /// `{"error": …}` with the name of the error's type.
    ///
    /// The handler gets one command after the other, and no command twice. A second call replaces
    /// the handler. The board's `policy.toml` must have `commands = true` for the app.
    public func onCommand<Content: Decodable & Sendable, Answer: Encodable & Sendable>(
        _ handler: @escaping @Sendable (Content) async throws -> Answer
    ) async {
        await link.handle(AppCommand.handler(handler))
    }

    /// Ends the connection. Writes that wait throw what they throw after `timeout`, and each later
    /// call throws `AppError.invalid`.
    public func close() async {
        await link.close()
        running.cancel()
        await running.value
    }

    private func send(_ write: AppWrite) async throws(AppError) -> Int {
        try await link.answer(to: write, within: timeout)
    }
}
