package import AuthorityCore
package import Sessions

/// A store as those who serve from it see it: besides the records, what other processes on the
/// same store do and know.
package protocol ServiceStore: AuthorityStore {
    /// Another value whenever another process, or another store on the same records, has
    /// committed since the last call. What this store commits does not change it.
    ///
    /// To be asked several times a second; ask before what depends on it is read.
    func foreignVersion() async throws(AuthorityError) -> Int64

    /// The latest time that a service of this store has believed; nil before the first.
    func latestTime() async throws(AuthorityError) -> Timestamp?
    /// Raises the latest time to `time`; one that is later already stays.
    func raiseLatestTime(to time: Timestamp) async throws(AuthorityError)
    /// Makes `time` the latest, also where it is earlier: an operator says so.
    func resetLatestTime(to time: Timestamp) async throws(AuthorityError)

    /// Another value once another database has taken over from the one that it followed, whose
    /// last commits it may lack; nil where there is none to follow, or where that is not known.
    func history() async throws(AuthorityError) -> String?

    /// Looks at every board and session once: for a scrape, not for a request.
    func tally() async throws(AuthorityError) -> StoreTally

    /// Takes `name` for this process alone until the hold is released or gone; nil where
    /// another process of this store has it. It goes with the process, and with the connection
    /// to the database, so that nothing that a dead one held stays held.
    func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)?

    /// Takes part in `name` beside other processes of this store, for as long as none has it for
    /// itself by `hold`; nil while one does, or where this process takes part already.
    func share(_ name: String) async throws(AuthorityError) -> (any StoreHold)?

    /// How often nothing could be done because the store was away, since it was opened.
    var losses: Int { get }

    /// Whether several services may work on these records side by side.
    var isShared: Bool { get }
    /// One value for each moment at which somebody, here or elsewhere, may have committed, a
    /// flurry of them as one, and for each at which a commit may have been missed; nil where
    /// the store can only be asked. Each call makes another stream.
    func changes() -> AsyncStream<Void>?

    /// Keeps `own` where no settings are kept yet, or where they are to be the store's from now
    /// on. Returns those that are kept.
    func keep(
        _ own: SharedSettings, replacing: Bool
    ) async throws(AuthorityError) -> SharedSettings

    /// Later calls throw.
    func close() throws(AuthorityError)
}

extension ServiceStore {
    package var losses: Int { 0 }
    package var isShared: Bool { false }
    package func history() async throws(AuthorityError) -> String? { nil }
    package func share(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        UncontestedHold()
    }
    package func changes() -> AsyncStream<Void>? { nil }
    /// Whoever is alone has nobody to agree with.
    package func keep(
        _ own: SharedSettings, replacing: Bool
    ) async throws(AuthorityError) -> SharedSettings { own }
}

/// Why a store cannot be opened or asked, as the layer of `AuthorityError.failed`, where that
/// decides what to do next.
package enum StoreOpening {
    /// It may be there later.
    package static let away = "store away"
    /// Somebody has to change something.
    package static let settings = "store settings"
}

/// What one process of several may do, and no other while this lives.
package protocol StoreHold: Sendable {
    /// False once it was released, or its connection has gone.
    var isHeld: Bool { get }
    func release() async
}

/// For a store that one process serves from: whoever asks gets it.
struct UncontestedHold: StoreHold {
    let isHeld = true
    func release() async {}
}
