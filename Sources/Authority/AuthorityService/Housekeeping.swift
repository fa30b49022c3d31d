import AuthorityBroker
import AuthorityCore
import AuthorityStore
import Logging
import Sessions

/// Background work of `serve`: it sweeps expired records, retries failed broker changes, and acts
/// on what other processes write to the store.
struct Housekeeping: Sendable {
    let authority: Authority
    let store: any ServiceStore
    let worker: BrokerWorker
    let reconciliation: Reconciliation
    let clock: ClockGuard
    let logger: Logger
    /// The store's `foreignVersion` before its keys were read.
    let firstVersion: Int64

    private static let round = Duration.seconds(10)
    /// A command's change reaches the broker within a second; the broker needs most of that time.
    private static let glance = Duration.milliseconds(300)
    /// Other services apply their own commits. Only jobs of a command, or of a service that died,
    /// are left.
    private static let sharedGlance = Duration.seconds(1)

    /// Sweeps and retries, until its task is cancelled.
    func sweep() async {
        while !Task.isCancelled {
            do throws(AuthorityError) {
                let change = try await clock.look()
                // Retained messages were withheld while they seemed to have expired.
                if change.isNews, change.now == .believed { reconciliation.demand() }
                if change.now.maySweep {
                    try await sweepAlone()
                } else {
                    try await wake()
                }
            } catch {
                complain("expired records were not deleted", error)
            }
            await reconciliation.retry()
            await pause(Self.round)
        }
    }

    /// Only one of several authorities sweeps at a time. The others have nothing left to do.
    private func sweepAlone() async throws(AuthorityError) {
        _ = try await store.holding("sweep") { hold throws(AuthorityError) in
            while hold.isHeld, try await authority.sweep() {}
        }
    }

    /// Acts on what other processes commit, until its task is cancelled. It reacts within half a
    /// second, or a few seconds if the store is shared.
    ///
    /// If other services share the store, they do their own jobs. A job that is still there at the
    /// next look is done here: a command has no worker, and a service may have died.
    ///
    /// It also ends consumers and boards' commands at their time, and sends such commands again. It
    /// reloads the signing keys every 10 s, so that expired keys are no longer published.
    func watch() async {
        var lastReload = ContinuousClock.now
        var seen = firstVersion
        var standing: Set<String> = []
        var outage = StoreReturn()
        while !Task.isCancelled {
            var rest = store.isShared ? Self.sharedGlance : Self.glance
            do throws(AuthorityError) {
                let version = try await store.foreignVersion()
                // The same log level as the loss, so that an operator who sees the loss also sees
                // its end.
                if outage.isOver(losses: store.losses) {
                    logger.error("the database is available again")
                }
                if store.isShared { try await clock.follow() }
                if clock.maySweep {
                    try await authority.endDueConsumers()
                    try await authority.tendCommands()
                }
                if seen != version || !standing.isEmpty { try await wake(&standing) }
                if seen != version || ContinuousClock.now - lastReload > Self.round {
                    if try await authority.reloadSigningKeys() {
                        logger.notice("a new key signs access tokens from now on")
                    }
                    lastReload = ContinuousClock.now
                }
                seen = version
            } catch {
                complain("changes by other processes could not be read", error)
                rest = Self.round
            }
            await pause(rest)
        }
    }

    /// An error while the service stops is not logged.
    private func complain(_ what: String, _ error: AuthorityError) {
        if !Task.isCancelled { logger.error("\(what): \(error.words)") }
    }

    private func wake() async throws(AuthorityError) {
        for line in try await authority.linesWithJobs() { worker.wake(line) }
    }

    private func wake(_ standing: inout Set<String>) async throws(AuthorityError) {
        guard store.isShared else { return try await wake() }
        let lines = try await authority.linesWithJobs()
        for line in lines where standing.contains(line) { worker.wake(line) }
        standing = Set(lines).subtracting(standing)
    }
}
