import AuthorityBroker
import AuthorityCore
import AuthorityStore
import Logging
import Sessions

/// Deletes the oldest records beyond the bounds, settles releases, and looks at the size of the
/// store.
struct DataTrimming: Sendable {
    let store: any ServiceStore
    let data: any DataStore
    let authority: Authority
    let bounds: DataBounds
    let tally: DataTally
    /// Whether the clock is right. A wrong one would make all records look old.
    let mayTrim: @Sendable () -> Bool
    let logger: Logger

    private static let round = Duration.seconds(10)

    /// Trims until its task is cancelled.
    func run() async {
        var isWarned = false
        while !Task.isCancelled {
            do throws(AuthorityError) {
                try await trim()
                tally.note(try await data.usage())
                isWarned = false
            } catch {
                if !Task.isCancelled, !isWarned {
                    logger.error("old records could not be deleted: \(error.words)")
                }
                isWarned = true
            }
            await pause(Self.round)
        }
    }

    /// One of several authorities does it at a time.
    private func trim() async throws(AuthorityError) {
        guard mayTrim() else { return }
        _ = try await store.holding("data trim") { hold throws(AuthorityError) in
            while hold.isHeld, !Task.isCancelled {
                let count = try await data.trim(bounds, now: systemClock())
                tally.note(count)
                if !count.isMore { break }
            }
            try await settleReleases(now: systemClock())
        }
    }

    func settleReleases(now: Timestamp) async throws(AuthorityError) {
        let releases = try await data.openReleases(until: now - DataRelease.settledAfter)
        guard !releases.isEmpty else { return }
        let owners = try await authority.owners(of: Set(releases.map(\.board)))
        for release in releases {
            try await data.settle(release, ownerHasBoard: owners[release.board] == release.owner)
        }
    }
}
