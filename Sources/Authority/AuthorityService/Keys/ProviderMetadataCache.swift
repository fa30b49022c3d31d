import AuthorityCore

/// A cache of one provider's description. Callers at the same time share one read.
actor ProviderMetadataCache {
    /// A description is used no longer than this.
    static let longest = Duration.seconds(3600)
    /// After a failed read, the next read waits this long.
    static let respite = Duration.seconds(5)

    private let read: @Sendable () async -> Result<ProviderMetadata, KeySetFailure>
    private let clock: @Sendable () -> Duration
    private var held: (result: Result<ProviderMetadata, KeySetFailure>, at: Duration)?
    private var reading: Task<Result<ProviderMetadata, KeySetFailure>, Never>?

    /// `clock` starts at any value and never goes back.
    init(
        read: @escaping @Sendable () async -> Result<ProviderMetadata, KeySetFailure>,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.read = read
        self.clock = clock
    }

    func metadata() async throws(KeySetFailure) -> ProviderMetadata {
        if let held {
            var life = Self.longest
            if case .failure = held.result { life = Self.respite }
            if clock() - held.at < life { return try held.result.get() }
        }
        if let reading { return try await reading.value.get() }
        let task = Task { [read] in await read() }
        reading = task
        let result = await task.value
        reading = nil
        held = (result, clock())
        return try result.get()
    }
}
