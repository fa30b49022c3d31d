import Testing

@testable import PostgreSQLClient

@Suite("Outage")
struct OutageTests {
    @Test("waits longer after each failure, within bounds and spread", arguments: [
        (0, 0.0, 10), (0, 1.0, 20), (1, 1.0, 40), (3, 0.5, 120), (8, 1.0, 5000),
        (60, 0.0, 2500), (Int.max, 1.0, 5000), (-1, 1.0, 20),
    ])
    func pauses(failures: Int, chance: Double, milliseconds: Int) {
        #expect(
            Outage.pause(after: failures, chance: chance) == .milliseconds(milliseconds))
    }

    @Test("lets one try at a time")
    func claims() {
        let now = ContinuousClock.now
        var outage = Outage(.closed, at: now, chance: 1)
        let early = outage.claim(at: now, for: .seconds(5))
        let first = outage.claim(at: now + .milliseconds(20), for: .seconds(5))
        let second = outage.claim(at: now + .milliseconds(30), for: .seconds(5))
        #expect(!early && first && !second)
        outage.fail(.overloaded, at: now + .milliseconds(40), chance: 1)
        #expect(outage.error == .overloaded)
        let soon = outage.claim(at: now + .milliseconds(79), for: .seconds(5))
        let then = outage.claim(at: now + .milliseconds(80), for: .seconds(5))
        #expect(!soon && then)
        // One that never comes back is not waited for for ever.
        let late = outage.claim(at: now + .seconds(6), for: .seconds(5))
        #expect(late)
    }
}
