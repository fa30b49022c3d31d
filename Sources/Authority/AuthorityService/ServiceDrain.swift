import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import Logging
import MQTT

/// Drains an authority while others keep running: others take new work, and this one finishes its
/// own.
///
/// Each step has a time limit. Work that is unfinished then stays in the store, or a board asks for
/// it again, so another authority does it.
struct ServiceDrain: Sendable {
    let link: BrokerLink
    let subscriptions: [Subscription]
    let traffic: BoardTraffic
    let worker: BrokerWorker
    let hub: EventHub
    let readiness: Readiness
    /// Whether other authorities share the store. If so, a load balancer may send requests to one
    /// of them.
    let isOneOfSeveral: Bool
    let logger: Logger

    /// Time limit for the work that was taken.
    private static let workLimit = Duration.seconds(10)
    /// Time for a load balancer to notice that it must send requests elsewhere.
    static let notice = Duration.seconds(5)

    /// Returns when the HTTP server has been asked to close. By then the authority reads no more
    /// messages of boards.
    func take() async {
        readiness.drain()
        logger.info("stopping: no more messages and requests are accepted")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await finishTraffic() }
            if isOneOfSeveral { group.addTask { await pause(Self.notice) } }
        }
        // Pages reconnect by themselves, to another authority or later.
        await hub.close()
        readiness.close()
    }

    private func finishTraffic() async {
        await link.retire(from: subscriptions)
        let end = ContinuousClock.now + Self.workLimit
        var quiet = 0
        // The broker's last messages may still be on their way into a lane.
        while quiet < 3, ContinuousClock.now < end, !Task.isCancelled {
            let isWorkerIdle = await worker.isIdle
            quiet = traffic.isIdle && isWorkerIdle ? quiet + 1 : 0
            await pause(.milliseconds(20))
        }
        if quiet < 3 {
            logger.warning("stopping with unfinished work; it is done later, or by others")
        }
    }
}
