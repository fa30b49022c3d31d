import AuthorityCore
import AuthorityStore
import Logging
import Sessions

/// What `serve` does without being asked: sweep what is over, try again what the broker could
/// not be told, and take up what other processes put into the store.
struct Housekeeping: Sendable {
    let authority: Authority
    let store: SQLiteAuthorityStore
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

    /// Sweeps and retries, until its task is cancelled.
    func sweep() async {
        while !Task.isCancelled {
            do throws(AuthorityError) {
                let change = try await clock.look()
                // Retained messages were withheld while their end seemed to have passed.
                if change.isNews, change.now == .believed { reconciliation.demand() }
                if change.now.maySweep {
                    while try await authority.sweep() {}
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

    /// Acts on what other processes commit, within half a second, until its task is cancelled.
    ///
    /// Also looks after the signing keys once in a while: those whose time is over are to be
    /// published no longer.
    func watch() async {
        var lastReload = ContinuousClock.now
        var seen = firstVersion
        while !Task.isCancelled {
            var rest = Self.glance
            do throws(AuthorityError) {
                let version = try await store.foreignVersion()
                if seen != version { try await nudge() }
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
}
