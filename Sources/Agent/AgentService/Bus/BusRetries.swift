import AgentCore
import MQTT

/// How long to wait before the local broker is tried again.
///
/// One that is away is back soon, and programs wait for it. One that answers and lets nobody in
/// is waited for as the upstream broker is: from 1 s, doubling to 60 s. Source: the wire
/// contract, Spreading.
struct BusRetries: Sendable {
    private var losses = Backoff(first: .milliseconds(200), limit: .seconds(10))
    private var refusals = Backoff(first: .seconds(1), limit: .seconds(60))

    /// The wait after a connection that failed, or ended. `wasLetIn`: not by a refusal, whatever
    /// code it ended with. `share` is drawn from 0 to 1.
    mutating func wait(after error: MQTTError, wasLetIn: Bool, share: Double) -> Duration {
        guard error.isRefusal, !wasLetIn else { return losses.next(share: 0) }
        return refusals.next(share: share)
    }

    /// A connection stood for a while.
    mutating func hasStood() {
        losses.reset()
        refusals.reset()
    }
}
