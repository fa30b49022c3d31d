import Sessions
import Testing

@testable import AgentService

@Suite("A connection that stands")
struct IdleWayTests {
    private let ann = UserID("ann0000000")

    @Test("is given up where it carries nothing for a minute, and then less often")
    func idle() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.look(waiting: 1, at: .seconds(10))
        forwarder.look(waiting: 1, at: .seconds(50))
        #expect(forwarder.nextDeadline == .seconds(70))
        #expect(forwarder.stall(at: .seconds(69)) == nil)
        #expect(
            forwarder.stall(at: .seconds(70)) == "writes wait, and none was sent in 60 s")
        forwarder.look(waiting: 1, at: .seconds(100))
        #expect(forwarder.nextDeadline == .seconds(220))
        forwarder.sent(1, as: 11, at: .seconds(110))
        forwarder.settle([(11, 0)], at: .seconds(111))
        forwarder.look(waiting: 1, at: .seconds(120))
        #expect(forwarder.nextDeadline == .seconds(180))
    }

    @Test("is not given up while something keeps the writes back")
    func heldBack() {
        var forwarder = Forwarder()
        forwarder.look(waiting: 1, at: .zero)
        #expect(forwarder.nextDeadline == nil)
        forwarder.forward(ann)
        forwarder.look(waiting: 0, at: .zero)
        #expect(forwarder.nextDeadline == nil)
        forwarder.sent(1, as: 11, at: .zero)
        forwarder.look(waiting: 1, at: .zero)
        // The write in flight has a deadline of its own.
        #expect(forwarder.nextDeadline == Forwarder.patience)
        forwarder.settle([(11, 0x97)], at: .zero)
        forwarder.look(waiting: 1, at: .zero)
        #expect(forwarder.nextDeadline == .seconds(1))
        #expect(forwarder.stall(at: .seconds(1000)) == nil)
    }

    @Test("tells the highest data message that the broker took, once")
    func lastForwarded() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for number in 1...3 as ClosedRange<Int64> {
            forwarder.sent(number, as: Int32(number), isData: number < 3, at: .zero)
        }
        forwarder.settle([(2, 0), (1, 0), (3, 0)], at: .zero)
        #expect(forwarder.takeLastForwarded() == 2)
        #expect(forwarder.takeLastForwarded() == nil)
    }

    @Test("has the bus wait for a moment while what it brought leaves by a near broker")
    func catchingUp() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 11, at: .zero)
        forwarder.settle([(11, 0)], at: .milliseconds(1))
        forwarder.sent(2, as: 12, at: .milliseconds(2))
        forwarder.look(waiting: 1, at: .milliseconds(2))
        #expect(forwarder.busWaits(after: .milliseconds(2)) == nil)
        forwarder.look(waiting: 500, at: .milliseconds(3))
        #expect(forwarder.busWaits(after: .milliseconds(3)) == .milliseconds(23))
        forwarder.look(waiting: 400, at: .milliseconds(13))
        #expect(forwarder.busWaits(after: .milliseconds(22)) == .milliseconds(23))
        #expect(forwarder.busWaits(after: .milliseconds(23)) == nil)
        // It was read then, and brought more; but the broker has taken nothing meanwhile.
        forwarder.look(waiting: 600, at: .milliseconds(29))
        #expect(forwarder.busWaits(after: .milliseconds(29)) == nil)
        forwarder.settle([(12, 0)], at: .milliseconds(29))
        forwarder.sent(3, as: 13, at: .milliseconds(29))
        forwarder.look(waiting: 700, at: .milliseconds(30))
        #expect(forwarder.busWaits(after: .milliseconds(30)) == .milliseconds(50))
        forwarder.look(waiting: 1, at: .milliseconds(31))
        #expect(forwarder.busWaits(after: .milliseconds(31)) == nil)
    }
}
