import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import Logging
import MQTT

/// How an authority leaves while others stay: what comes from now on is another's, what has
/// come is finished.
///
/// Each step is bounded; what is not done by then is in the store, or asked for again by a
/// board, so that it is done by somebody else.
struct Farewell: Sendable {
    let link: BrokerLink
    let subscriptions: [Subscription]
    let traffic: BoardTraffic
    let courier: BrokerCourier
    let hub: EventHub
    let readiness: Readiness
    /// Whether there are others, and so perhaps somebody who sends requests to one of them.
    let isOneOfSeveral: Bool
    let logger: Logger

    /// How long what was taken may take to be done.
    private static let workLimit = Duration.seconds(10)
    /// How long a load balancer has to see that requests should go elsewhere.
    static let notice = Duration.seconds(5)

    /// Returns when the page's server is told to close; boards are heard no more by then.
    func take() async {
        readiness.drain()
        logger.info("leaving: nothing more is taken")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await finishTraffic() }
            if isOneOfSeveral { group.addTask { await pause(Self.notice) } }
        }
        // Pages come back by themselves, elsewhere or later.
        await hub.close()
        readiness.close()
    }

    private func finishTraffic() async {
        await link.retire(from: subscriptions)
        let end = ContinuousClock.now + Self.workLimit
        var quiet = 0
        // What the broker sent last may still be on its way into a lane.
        while quiet < 3, ContinuousClock.now < end, !Task.isCancelled {
            let isCourierIdle = await courier.isIdle
            quiet = traffic.isIdle && isCourierIdle ? quiet + 1 : 0
            await pause(.milliseconds(20))
        }
        if quiet < 3 { logger.warning("leaving with work that others or a repetition will do") }
    }
}
