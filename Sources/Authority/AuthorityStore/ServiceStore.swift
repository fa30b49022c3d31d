package import AuthorityCore
package import Sessions

/// A store as services see it: the records, and the work of other processes on the same store.
package protocol ServiceStore: RecordStore {
    /// A value that changes when another process, or another store object, commits to the same
    /// records. Commits of this store object do not change it.
    ///
    /// Ask several times a second, and ask before you read the data that depends on it.
    func foreignVersion() async throws(AuthorityError) -> Int64

    /// The latest time that a service of this store has believed; nil before the first service.
    func latestTime() async throws(AuthorityError) -> Timestamp?
    /// Raises the latest time to `time`. A later time stays.
    func raiseLatestTime(to time: Timestamp) async throws(AuthorityError)
    /// Sets the latest time to `time`, even if it is earlier: an operator asked for it.
    func resetLatestTime(to time: Timestamp) async throws(AuthorityError)

    /// A value that changes when a standby database has taken over. The new database may lack the
    /// last commits of the old one. Nil if there is no standby, or if this is unknown.
    func history() async throws(AuthorityError) -> String?

    /// Counts all boards and sessions: for a scrape of the metrics, not for a request.
    func tally() async throws(AuthorityError) -> StoreTally

    /// Takes `name` for this process alone, until the hold is released or lost. Nil if another
    /// process of this store has it. The hold ends with the process or its database connection, so
    /// a dead process holds nothing.
    func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)?

    /// Shares `name` with other processes of this store, while no process has it alone by `hold`.
    /// Nil while one has it alone, or if this process already shares it.
    func share(_ name: String) async throws(AuthorityError) -> (any StoreHold)?

    /// How often work failed because the store was away, since the store was opened.
    var losses: Int { get }

    /// Whether the last change failed because the disk of the store is full.
    var isDiskFull: Bool { get }

    /// Whether several services may use these records at the same time.
    var isShared: Bool { get }
    /// Yields one value when somebody, here or elsewhere, may have committed. Many commits in a
    /// short time give one value. It also yields when a commit may have been missed. Nil if the
    /// store must be polled. Each call makes a new stream.
    func changes() -> AsyncStream<Void>?

    /// Saves `own` if the store has no settings yet, or if `replacing` is true. Returns the saved
    /// settings.
    func keep(
        _ own: SharedSettings, replacing: Bool
    ) async throws(AuthorityError) -> SharedSettings

    /// Closes the store. Later calls throw.
    func close() throws(AuthorityError)
}

extension ServiceStore {
    package var losses: Int { 0 }
    package var isDiskFull: Bool { false }
    package var isShared: Bool { false }
    package func history() async throws(AuthorityError) -> String? { nil }

    /// Runs `body` while this process alone has `name`. Returns false if another process has it.
    package func holding(
        _ name: String, _ body: (any StoreHold) async throws(AuthorityError) -> Void
    ) async throws(AuthorityError) -> Bool {
        guard let hold = try await hold(name) else { return false }
        do throws(AuthorityError) {
            try await body(hold)
        } catch {
            await hold.release()
            throw error
        }
        await hold.release()
        return true
    }

    package func share(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        UncontestedHold()
    }
    package func changes() -> AsyncStream<Void>? { nil }
    /// A single service needs no agreement with others.
    package func keep(
        _ own: SharedSettings, replacing: Bool
    ) async throws(AuthorityError) -> SharedSettings { own }
}

/// Layers of `AuthorityError.failed` that tell the caller what to do if a store cannot be opened or
/// asked.
package enum StoreOpening {
    /// The store may come back later. Retry.
    package static let away = "store away"
    /// The operator must change a setting.
    package static let settings = "store settings"
}

/// A name that this process holds, alone (`hold`) or together with others (`share`).
package protocol StoreHold: Sendable {
    /// False after it was released, or after its connection was lost.
    var isHeld: Bool { get }
    func release() async
}

/// The hold of a store that only one process serves from. Every request gets it.
struct UncontestedHold: StoreHold {
    let isHeld = true
    func release() async {}
}
