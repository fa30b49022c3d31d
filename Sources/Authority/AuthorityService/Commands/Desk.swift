import AuthorityCore
import AuthorityStore
import Sessions

/// An authority without broker or HTTP, for commands beside the running one.
struct Desk {
    let authority: Authority
    private let store: any ServiceStore

    init(_ settings: ServiceSettings) async throws {
        let folder = StateFolder(settings)
        store = try await folder.open()
        authority = Authority(
            store: store, cryptography: SystemCryptography(), courier: NoCourier(),
            keys: try await folder.keys(of: store), rules: settings.rules, clock: systemClock)
    }

    /// The same on a store that stands in no service's place yet.
    init(
        _ store: any ServiceStore, _ folder: StateFolder, _ settings: ServiceSettings
    ) async throws {
        self.store = store
        authority = Authority(
            store: store, cryptography: SystemCryptography(), courier: NoCourier(),
            keys: try await folder.keys(of: store), rules: settings.rules, clock: systemClock)
    }

    /// Notes that an earlier state is in place, and that the clock is right: what the store
    /// takes for the latest time is of the backup's day.
    func noteRestored() async throws(AuthorityError) {
        try await authority.noteRestored(actor: "console")
        try await store.resetLatestTime(to: systemClock())
    }

    /// Gives up who was found ahead, and says how many; nil where there was no alarm. The next
    /// start finds no gap that reaches back before this.
    func settleRestored() async throws(AuthorityError) -> Int? {
        try await requireCredibleClock()
        guard let count = try await authority.settleRestored(actor: "console") else { return nil }
        try await store.raiseLatestTime(to: systemClock())
        return count
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
