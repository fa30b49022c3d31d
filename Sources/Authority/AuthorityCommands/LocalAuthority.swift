import AuthorityBroker
import AuthorityCore
import AuthorityService
import AuthorityStore
import Sessions

/// An authority without a broker or HTTP, for commands that run beside `serve`.
struct LocalAuthority {
    let authority: Authority
    private let store: any ServiceStore

    init(_ settings: ServiceSettings) async throws {
        let folder = StateFolder(settings)
        store = try await folder.open()
        authority = try await folder.authority(on: store, settings.rules)
    }

    /// The same on a given store, which no service may use yet.
    init(
        _ store: any ServiceStore, _ folder: StateFolder, _ settings: ServiceSettings
    ) async throws {
        self.store = store
        authority = try await folder.authority(on: store, settings.rules)
    }

    /// Notes that an earlier state was restored, and that the clock is right: the latest time in
    /// the store is as old as the backup.
    func noteRestored() async throws(AuthorityError) {
        try await authority.noteRestored(actor: "console")
        try await store.resetLatestTime(to: systemClock())
    }

    /// Gives up the boards that were found ahead. Returns their number, or nil if there was no
    /// alarm. The next start finds no gap before this time.
    func settleRestored() async throws(AuthorityError) -> Int? {
        try await requireCredibleClock()
        guard let count = try await authority.settleRestored(actor: "console") else { return nil }
        try await store.raiseLatestTime(to: systemClock())
        return count
    }

    /// Checks the clock: with a wrong clock a retired key would be deleted too early or far too
    /// late.
    ///
    /// - Throws: 142 if the clock is a minute or more behind the latest time on record, or 30 days
    ///   or more ahead of it.
    func requireCredibleClock() async throws(AuthorityError) {
        guard let latest = try await store.latestTime() else { return }
        let now = systemClock()
        guard now > latest - .seconds(60), now < latest + ClockWatch.absurd else {
            throw .refused(Refusal(
                .validation, "the clock is far from the latest time on record; set the clock, or "
                    + "let `serve` run until it trusts the clock"))
        }
    }
}
