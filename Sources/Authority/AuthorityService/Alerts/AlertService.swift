import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import Foundation
import Logging
import Sessions
import Synchronization

/// Watches the boards, keeps the alerts, and sends the messages about them.
///
/// If several authorities share a store, the one that holds the lock does so, until it ends.
final class AlertService: Sendable {
    let authority: Authority
    let store: any ServiceStore
    let link: BrokerLink
    let clock: ClockGuard
    let channels: AlertChannels
    /// Nil: no alerts go to browsers.
    let push: PushService?
    let rules: AlertRules
    /// The time that boards may need until they are heard again, once the broker is connected.
    let grace: @Sendable () -> Duration
    let lastData: @Sendable (InstallationID) -> Timestamp?
    let logger: Logger
    private let counts = Mutex<[AlertChannel: AlertCount]>([:])

    init(
        authority: Authority, store: any ServiceStore, link: BrokerLink, clock: ClockGuard,
        channels: AlertChannels, push: PushService? = nil, rules: AlertRules,
        grace: @escaping @Sendable () -> Duration,
        lastData: @escaping @Sendable (InstallationID) -> Timestamp?, logger: Logger
    ) {
        self.authority = authority
        self.store = store
        self.link = link
        self.clock = clock
        self.channels = channels
        self.push = push
        self.rules = rules
        self.grace = grace
        self.lastData = lastData
        self.logger = logger
    }

    /// A round begins once a minute, or more often if a board is an alert after less than four
    /// minutes. Rounds take at most a tenth of the time.
    private var rhythm: Duration {
        let shortest = min(rules.offlineAfter, rules.silentAfter, rules.queueAfter) / 4
        return max(.seconds(1), min(.seconds(60), shortest))
    }

    /// Works until its task is cancelled.
    func run() async {
        var watch: AlertWatch?
        var hold: (any StoreHold)?
        var hearsSince: Timestamp?
        for fault in channels.faults { logger.error("alerts cannot be sent: \(fault)") }
        while !Task.isCancelled {
            let begun = ContinuousClock.now
            do throws(AuthorityError) {
                if hold?.isHeld != true {
                    hold = try await store.hold("alerts")
                    watch = nil
                }
                let now = systemClock()
                hearsSince = await link.isUp ? hearsSince ?? now : nil
                if hold != nil, clock.mayAnswer {
                    watch = try await authority.evaluateAlerts(
                        watch ?? AlertWatch(rules: rules, at: now),
                        AlertSight(now: now, hearsSince: hearsSince, grace: grace()),
                        channels: channels.all, lastData: lastData)
                }
            } catch {
                complain("the boards could not be watched for alerts", error)
            }
            let took = ContinuousClock.now - begun
            if hold?.isHeld == true { await deliver() }
            await pause(max(rhythm - (ContinuousClock.now - begun), took * 9, .seconds(1)))
        }
        await hold?.release()
    }

    /// Sends what is due, on each channel by itself. After a failure a channel rests until the next
    /// round.
    private func deliver() async {
        await withTaskGroup { group in
            for channel in channels.all {
                group.addTask { await self.deliver(on: channel) }
            }
        }
    }

    private func deliver(on channel: AlertChannel) async {
        let begun = ContinuousClock.now
        do throws(AuthorityError) {
            for message in try await authority.dueMessages(on: channel) {
                let notice = AlertNotice(
                    message, authority: channels.name, publicURL: channels.publicURL)
                let failure = channel == .push
                    ? await push?.send(notice, of: message.alert)
                    : await channels.send(notice, on: channel)
                // A try that was cut short is no failure of the channel.
                guard !Task.isCancelled else { return }
                let isLeft = try await authority.noteDelivery(of: message, failure: failure)
                counts.withLock { $0[channel, default: AlertCount()].note(failure) }
                guard let failure else { continue }
                logger.error(
                    "an alert was not sent; \(isLeft ? "it is tried again" : "it is given up")",
                    metadata: ["channel": "\(channel.rawValue)", "error": "\(failure)"])
                // One person's browser lets nobody else's wait.
                guard channel == .push, ContinuousClock.now - begun < .seconds(30) else { return }
            }
        } catch {
            complain("alerts could not be sent", error)
        }
    }

    /// Messages by channel since the start.
    var tally: [AlertChannel: AlertCount] {
        counts.withLock { counts in
            Dictionary(channels.all.map { ($0, counts[$0] ?? AlertCount()) }) { $1 }
        }
    }

    /// An error while the service stops is not logged.
    private func complain(_ what: String, _ error: AuthorityError) {
        if !Task.isCancelled { logger.error("\(what): \(error.words)") }
    }
}

extension AlertService: AlertTest {
    func testAlerts() async -> [AlertTrial] {
        await withTaskGroup(of: AlertTrial.self) { group in
            // Browsers belong to people, so an administrator's test does not go there.
            for channel in channels.all where channel != .push {
                group.addTask { [channels] in
                    let notice = AlertNotice(
                        testAt: systemClock(), id: UUID().uuidString.lowercased(),
                        authority: channels.name, publicURL: channels.publicURL)
                    return AlertTrial(
                        channel: channel, failure: await channels.send(notice, on: channel))
                }
            }
            var trials: [AlertTrial] = []
            for await trial in group { trials.append(trial) }
            return trials.sorted { $0.channel.rawValue < $1.channel.rawValue }
        }
    }
}

/// Tries to send on one channel.
struct AlertCount: Equatable, Sendable {
    var sent = 0
    var failed = 0

    mutating func note(_ failure: String?) {
        if failure == nil { sent += 1 } else { failed += 1 }
    }
}
