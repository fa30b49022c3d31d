import AuthorityCore
import AuthorityStore
import Logging
import Sessions

/// What `serve` does without being asked: sweep what is over, try again what the broker could
/// not be told, and take up what other processes put into the store.
struct Housekeeping: Sendable {
    let authority: Authority
    let store: any ServiceStore
    let courier: BrokerCourier
    let reconciliation: Reconciliation
    let clock: ClockGuard
    let logger: Logger
    /// The store's `foreignVersion` before its keys were read.
    let firstVersion: Int64

    private static let round = Duration.seconds(10)
    /// A command beside the service shows its effect within a second; this leaves the broker
    /// most of it.
    private static let glance = Duration.milliseconds(300)
    /// Other services do what they commit themselves; what is left is a command's, or of one
    /// that died.
    private static let sharedGlance = Duration.seconds(1)

    /// Sweeps and retries, until its task is cancelled.
    func sweep() async {
        while !Task.isCancelled {
            do throws(AuthorityError) {
                let change = try await clock.look()
                // Retained messages were withheld while their end seemed to have passed.
                if change.isNews, change.now == .believed { reconciliation.demand() }
                if change.now.maySweep {
                    try await sweepAlone()
                } else {
                    try await nudge()
                }
            } catch {
                complain("the sweep", error)
            }
            await reconciliation.retry()
            await pause(Self.round)
        }
    }

    /// One authority of several at a time; of what another sweeps there is nothing left to do.
    private func sweepAlone() async throws(AuthorityError) {
        guard let hold = try await store.hold("sweep") else { return }
        do throws(AuthorityError) {
            while hold.isHeld, try await authority.sweep() {}
        } catch {
            await hold.release()
            throw error
        }
        await hold.release()
    }

    /// Acts on what other processes commit, within half a second, or a few where the store is
    /// shared, until its task is cancelled.
    ///
    /// Where other services work on the store, a line with chores is theirs unless it stands for
    /// a while: a command has no courier, and a service may have died.
    ///
    /// Also looks after the signing keys once in a while: those whose time is over are to be
    /// published no longer.
    func watch() async {
        var lastReload = ContinuousClock.now
        var seen = firstVersion
        var standing: Set<String> = []
        var outage = StoreReturn()
        while !Task.isCancelled {
            var rest = store.isShared ? Self.sharedGlance : Self.glance
            do throws(AuthorityError) {
                let version = try await store.foreignVersion()
                // Whoever reads of the loss at its level reads of the end, too.
                if outage.isOver(losses: store.losses) { logger.error("the database is back") }
                if store.isShared { try await clock.follow() }
                if seen != version || !standing.isEmpty { try await nudge(&standing) }
                if seen != version || ContinuousClock.now - lastReload > Self.round {
                    if try await authority.reloadSigningKeys() {
                        logger.notice("access tokens are signed by another key from now on")
                    }
                    lastReload = ContinuousClock.now
                }
                seen = version
            } catch {
                complain("what other processes did to the store", error)
                rest = Self.round
            }
            await pause(rest)
        }
    }

    /// What is cut short because the service ends is no fault.
    private func complain(_ what: String, _ error: AuthorityError) {
        if !Task.isCancelled { logger.error("\(what): \(error.words)") }
    }

    private func nudge() async throws(AuthorityError) {
        for line in try await authority.linesWithChores() { courier.nudge(line) }
    }

    private func nudge(_ standing: inout Set<String>) async throws(AuthorityError) {
        guard store.isShared else { return try await nudge() }
        let lines = try await authority.linesWithChores()
        for line in lines where standing.contains(line) { courier.nudge(line) }
        standing = Set(lines).subtracting(standing)
    }
}
