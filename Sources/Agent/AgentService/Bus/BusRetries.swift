import AgentCore
import MQTT

/// The backoff for the local broker.
///
/// A broker that is away is usually back soon, and apps wait for it: 200 ms, up to 10 s. A broker
/// that refuses the login is tried like the upstream broker: from 1 s, doubling to 60 s.
/// Source: the wire contract, Spreading.
struct BusRetries: Sendable {
    private var losses = Backoff(first: .milliseconds(200), limit: .seconds(10))
    private var refusals = Backoff(first: .seconds(1), limit: .seconds(60))

    /// The wait after a connection failed or ended. `wasLetIn`: the broker had accepted the
    /// connection, so its end is not a refusal, whatever the code. `share` is random, from 0 to 1.
    mutating func wait(after error: MQTTError, wasLetIn: Bool, share: Double) -> Duration {
        guard error.isRefusal, !wasLetIn else { return losses.next(share: 0) }
        return refusals.next(share: share)
    }

    /// Resets both backoffs, after a connection that lasted a while.
    mutating func hasStood() {
        losses.reset()
        refusals.reset()
    }
}
