import AuthorityCore
import AuthorityStore
import Sessions

/// An authority without broker or HTTP, for commands beside the running one.
struct Desk {
    let authority: Authority
    private let store: SQLiteAuthorityStore

    init(_ settings: ServiceSettings) async throws {
        let folder = StateFolder(path: settings.stateDirectory)
        store = try folder.open()
        authority = Authority(
            store: store, cryptography: SystemCryptography(), courier: NoCourier(),
            keys: try await folder.keys(of: store), rules: settings.rules, clock: systemClock)
    }

    /// A key that is retired by a wrong clock would be dropped too early, or far too late.
    ///
    /// - Throws: 142 for a clock that is behind the latest time on record, or a month after it.
    func requireCredibleClock() async throws(AuthorityError) {
        guard let latest = try await store.latestTime() else { return }
        let now = systemClock()
        guard now > latest - .seconds(60), now < latest + ClockWatch.absurd else {
            throw .refused(Refusal(
                .validation, "the clock is far from the latest time on record; set it, or let "
                    + "`serve` run until it believes the clock"))
        }
    }
}
