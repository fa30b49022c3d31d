import AuthorityCore
import ConfigurationFiles
import Logging
import Sessions

/// One provider's key set, kept for a while and read again when it may have changed.
///
/// Many who ask at once wait for one reading. One that fails fails those that waited for it,
/// and changes nothing else.
actor KeySetShelf {
    /// A set is believed no longer than this: a key that was withdrawn is then gone.
    static let longest = Duration.seconds(3600)
    /// A key that is not in the set is looked for no more often than this.
    static let patience = Duration.seconds(60)
    /// After a reading that failed, the next one waits this long.
    static let respite = Duration.seconds(5)

    private let read: @Sendable () async -> Result<IdentityKeySet, KeySetFailure>
    private let clock: @Sendable () -> Duration
    private var held: (keys: IdentityKeySet, readAt: Duration)?
    private var failed: (failure: KeySetFailure, at: Duration)?
    private var reading: Task<Result<IdentityKeySet, KeySetFailure>, Never>?

    /// The log is told of each reading that failed.
    init(
        reading place: AuthoritySettings.KeySetPlace, of provider: LoginProvider, logger: Logger
    ) {
        let start = ContinuousClock.now
        self.init(
            read: {
                let result = await KeySetSource(place).read()
                if case .failure(let failure) = result {
                    logger.warning("keys of \(provider): \(failure.words) \(failure.detail)")
                }
                return result
            },
            clock: { ContinuousClock.now - start })
    }

    /// `clock` counts from any beginning and never goes back.
    init(
        read: @escaping @Sendable () async -> Result<IdentityKeySet, KeySetFailure>,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.read = read
        self.clock = clock
    }

    /// A set that is young enough, and was read lately if it lacks what the header names. It
    /// may lack it still.
    func keys(for header: IDTokenHeader) async throws(KeySetFailure) -> IdentityKeySet {
        let now = clock()
        var rest = Self.respite
        if let held, now - held.readAt < Self.longest {
            if now - held.readAt < Self.patience || !held.keys.lacksKey(for: header) {
                return held.keys
            }
            rest = Self.patience
        }
        if let failed, now - failed.at < rest { throw failed.failure }
        return try await freshKeys()
    }

    private func freshKeys() async throws(KeySetFailure) -> IdentityKeySet {
        if let reading { return try await reading.value.get() }
        let task = Task { [read] in await read() }
        reading = task
        let result = await task.value
        reading = nil
        switch result {
        case .success(let keys):
            held = (keys, clock())
            failed = nil
        case .failure(let failure): failed = (failure, clock())
        }
        return try result.get()
    }
}
