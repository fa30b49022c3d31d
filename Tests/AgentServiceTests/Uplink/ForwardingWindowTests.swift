import Testing

@testable import AgentService

@Suite("Forwarding window")
struct ForwardingWindowTests {
    /// A link in virtual time: each write is acknowledged one round trip after it was sent,
    /// and the broker takes no more than so many a second.
    private struct Link {
        var roundTrip: Duration
        let perSecond: Double
        var window = ForwardingWindow()
        private var now = Duration.zero
        private var nextID: Int32 = 0
        private var waiting: [(packetID: Int32, due: Duration)] = []
        private var lastDue = Duration.zero
        private(set) var most = 0
        private(set) var taken = 0

        init(roundTrip: Duration, perSecond: Double) {
            self.roundTrip = roundTrip
            self.perSecond = perSecond
        }

        /// Sends as the window allows until so many were taken; `rare`: never more than one.
        mutating func carry(_ count: Int, rare: Bool = false) -> Duration {
            let begun = now
            let end = taken + count
            while taken < end {
                let room = rare ? 1 : window.size
                while waiting.count < room {
                    nextID += 1
                    lastDue = max(now + roundTrip, lastDue + .seconds(1 / perSecond))
                    waiting.append((nextID, lastDue))
                    window.sent(nextID, waiting: waiting.count, bytes: 0, at: now)
                }
                most = max(most, waiting.count)
                now = waiting[0].due
                while let first = waiting.first, first.due <= now {
                    window.acknowledged(first.packetID)
                    waiting.removeFirst()
                    taken += 1
                }
                window.settled(at: now)
            }
            return now - begun
        }
    }

    @Test("grows on a long way, to 2,000 and no further")
    func longWay() {
        var link = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        _ = link.carry(6000)
        #expect(link.window.size == ForwardingWindow.largest)
        _ = link.carry(34_000)
        #expect(link.most == ForwardingWindow.largest)
        // A fixed window of 100 carries 500 a second here. Measuring the round trip again costs
        // one of them in ten seconds.
        #expect(link.carry(200_000) < .seconds(22))
    }

    @Test("is twice what the link carries in a round trip", arguments: [
        (200, 2000.0, 600...850), (20, 10_000.0, 300...450), (2, 10_000.0, 256...256),
    ])
    func need(milliseconds: Int, perSecond: Double, sizes: ClosedRange<Int>) {
        var link = Link(roundTrip: .milliseconds(milliseconds), perSecond: perSecond)
        _ = link.carry(20_000)
        let begun = link.carry(Int(perSecond))
        #expect(begun <= .milliseconds(1250))
        #expect(sizes.contains(link.most), "\(link.most)")
    }

    @Test("is the least where the broker answers soon")
    func nearBroker() {
        var link = Link(roundTrip: .microseconds(300), perSecond: 50_000)
        _ = link.carry(50_000)
        #expect(link.most <= 2 * ForwardingWindow.least)
    }

    @Test("stays small where the broker, not the way, is what is waited for")
    func slowBroker() {
        var link = Link(roundTrip: .milliseconds(1), perSecond: 5000)
        _ = link.carry(150_000)
        #expect(link.most < 3 * ForwardingWindow.least)
    }

    @Test("notices that the way has become longer, or shorter again")
    func otherWay() {
        var link = Link(roundTrip: .milliseconds(1), perSecond: 5000)
        _ = link.carry(10_000)
        link.roundTrip = .milliseconds(200)
        _ = link.carry(20_000)
        #expect(link.window.size > 1000)
        link.roundTrip = .milliseconds(1)
        _ = link.carry(80_000)
        #expect(link.window.size < 3 * ForwardingWindow.least)
    }

    @Test("has room for what a far broker could take while the agent's own loop is busy")
    func longTurn() {
        var link = Link(roundTrip: .milliseconds(6), perSecond: 20_000)
        link.window.looked(after: .milliseconds(25))
        _ = link.carry(10_000)
        #expect(link.window.size > 900)
        for _ in 0..<40 { link.window.looked(after: .microseconds(200)) }
        _ = link.carry(10_000)
        #expect(link.window.size <= 2 * ForwardingWindow.least)
    }

    @Test("does not follow apps that write little")
    func rare() {
        var link = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        _ = link.carry(40_000)
        _ = link.carry(100, rare: true)
        #expect(link.window.size == ForwardingWindow.largest)
        var other = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        _ = other.carry(100, rare: true)
        #expect(other.window.size == ForwardingWindow.least)
    }

    @Test("begins with one after a refusal, and is the usual one soon")
    func slowStart() {
        var link = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        link.window.beginWithOne()
        #expect(link.window.size == 1)
        #expect(link.carry(300) <= .seconds(2))
        #expect(link.window.size >= ForwardingWindow.least)
    }
}
