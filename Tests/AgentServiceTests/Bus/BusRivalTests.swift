import Testing

@testable import AgentService

@Suite("Another agent on the bus")
struct BusRivalTests {
    @Test("is waited for longer each time, and is news once")
    func backsOff() {
        var rival = BusRival()
        var now = Duration.zero
        var waits: [Duration] = []
        for turn in 0..<8 {
            let (wait, isNews) = rival.tookPlace(at: now, share: 0)
            #expect(isNews == (turn == 0))
            #expect(rival.isThere(at: now))
            waits.append(wait)
            now += wait
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map(Duration.seconds))
        now += BusRival.memory
        #expect(!rival.isThere(at: now))
        #expect(rival.tookPlace(at: now, share: 0) == (.seconds(1), true))
    }
}
