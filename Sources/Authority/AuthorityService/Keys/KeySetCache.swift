import AuthorityCore
import ConfigurationFiles
import Logging
import Sessions

/// A cache of one provider's key set, which is read again when it may have changed.
///
/// Callers at the same time share one read. A failed read fails these callers, and the old set
/// stays.
actor KeySetCache {
    /// A set is used no longer than this, so that a withdrawn key is gone then.
    static let longest = Duration.seconds(3600)
    /// If a key is missing in the set, the set is read again at most this often.
    static let patience = Duration.seconds(60)
    /// After a failed read, the next read waits this long.
    static let respite = Duration.seconds(5)

    private let read: @Sendable () async -> Result<IdentityKeySet, KeySetFailure>
    private let clock: @Sendable () -> Duration
    private var held: (keys: IdentityKeySet, readAt: Duration)?
    private var failed: (failure: KeySetFailure, at: Duration)?
    private var reading: Task<Result<IdentityKeySet, KeySetFailure>, Never>?

    /// Logs each failed read.
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

    /// `clock` starts at any value and never goes back.
    init(
        read: @escaping @Sendable () async -> Result<IdentityKeySet, KeySetFailure>,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.read = read
        self.clock = clock
    }

    /// Returns a key set that is not too old. If it lacks the header's key, it was read recently;
    /// the key may still be missing.
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
