import Testing

@testable import Board

@Suite("Forwarding window")
struct ForwardingWindowTests {
    /// A link in virtual time: each write is acknowledged one round trip after it was sent,
    /// and the broker takes no more than so many a second.
    private struct Link {
        let roundTrip: Duration
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
        _ = link.carry(40_000)
        #expect(link.window.size == ForwardingWindow.largest)
        #expect(link.most == ForwardingWindow.largest)
        // A fixed window of 100 carries 500 a second here.
        #expect(link.carry(20_000) < .seconds(3))
    }

    @Test("stays as it is where the broker answers soon")
    func nearBroker() {
        var link = Link(roundTrip: .microseconds(300), perSecond: 50_000)
        _ = link.carry(50_000)
        #expect(link.window.size == ForwardingWindow.usual)
        #expect(link.most == ForwardingWindow.usual)
    }

    @Test("stays small where the broker, not the way, is what is waited for")
    func slowBroker() {
        var link = Link(roundTrip: .milliseconds(1), perSecond: 5000)
        _ = link.carry(50_000)
        #expect(link.most <= 2 * ForwardingWindow.usual)
    }

    @Test("goes back once it is no longer used to the full")
    func goesBack() {
        var link = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        _ = link.carry(40_000)
        _ = link.carry(60_000, rare: true)
        #expect(link.window.size == ForwardingWindow.usual)
    }

    @Test("begins with one after a refusal, and is the usual one soon")
    func slowStart() {
        var link = Link(roundTrip: .milliseconds(200), perSecond: 100_000)
        link.window.beginWithOne()
        #expect(link.window.size == 1)
        #expect(link.carry(200) <= .seconds(2))
        #expect(link.window.size >= ForwardingWindow.usual)
    }
}
