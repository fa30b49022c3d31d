import MQTT
import Testing

@testable import AgentService

@Suite("Tries at the local broker")
struct BusRetriesTests {
    /// Each code by which a broker may refuse to let a client in, and the layers it is told on.
    static let refusals: [MQTTError] = codes.map { .mqtt("", reasonCode: $0) }
        + codes.map { .brokerLogin("", reasonCode: $0) }
    private static let codes = Array(0x80...0x8C as ClosedRange<UInt8>) + [0x97]

    private func waits(
        _ error: MQTTError, wasLetIn: Bool = false, count: Int
    ) -> [Duration] {
        var retries = BusRetries()
        return (0..<count).map { _ in
            retries.wait(after: error, wasLetIn: wasLetIn, share: 0)
        }
    }

    @Test("wait from 1 s to 60 s after each refusal", arguments: refusals)
    func refused(error: MQTTError) {
        let spans = [1, 2, 4, 8, 16, 32, 60, 60].map(Duration.seconds)
        #expect(waits(error, count: 8) == spans)
        var retries = BusRetries()
        #expect(retries.wait(after: error, wasLetIn: false, share: 1) == .milliseconds(500))
    }

    @Test("come soon after a broker that is away, or that ends what it let in", arguments: [
        (MQTTError.tcp("refused"), false), (.tls("no trust"), false), (.notConnected, false),
        (.mqtt("shutting down", reasonCode: 0x8B), true),
    ])
    func lost(error: MQTTError, wasLetIn: Bool) {
        let spans = [200, 400, 800, 1600, 3200, 6400, 10_000].map(Duration.milliseconds)
        #expect(waits(error, wasLetIn: wasLetIn, count: 7) == spans)
    }

    @Test("begin anew once a connection has stood")
    func stood() {
        var retries = BusRetries()
        let refusal = MQTTError.brokerLogin("", reasonCode: 0x86)
        for _ in 0..<4 { _ = retries.wait(after: refusal, wasLetIn: false, share: 0) }
        retries.hasStood()
        #expect(retries.wait(after: refusal, wasLetIn: false, share: 0) == .seconds(1))
    }
}
