import Sessions
import Testing

@testable import Board

@Suite("A connection that stands")
struct IdleWayTests {
    private let ann = UserID("ann0000000")

    @Test("is given up where it carries nothing for a minute, and then less often")
    func idle() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.look(isWaiting: true, at: .seconds(10))
        forwarder.look(isWaiting: true, at: .seconds(50))
        #expect(forwarder.nextDeadline == .seconds(70))
        #expect(forwarder.stall(at: .seconds(69)) == nil)
        #expect(
            forwarder.stall(at: .seconds(70)) == "writes wait, and none was sent in 60 s")
        forwarder.look(isWaiting: true, at: .seconds(100))
        #expect(forwarder.nextDeadline == .seconds(220))
        forwarder.sent(1, as: 11, at: .seconds(110))
        forwarder.settle([(11, 0)], at: .seconds(111))
        forwarder.look(isWaiting: true, at: .seconds(120))
        #expect(forwarder.nextDeadline == .seconds(180))
    }

    @Test("is not given up while something keeps the writes back")
    func heldBack() {
        var forwarder = Forwarder()
        forwarder.look(isWaiting: true, at: .zero)
        #expect(forwarder.nextDeadline == nil)
        forwarder.forward(ann)
        forwarder.look(isWaiting: false, at: .zero)
        #expect(forwarder.nextDeadline == nil)
        forwarder.sent(1, as: 11, at: .zero)
        forwarder.look(isWaiting: true, at: .zero)
        // The write in flight has a deadline of its own.
        #expect(forwarder.nextDeadline == Forwarder.patience)
        forwarder.settle([(11, 0x97)], at: .zero)
        forwarder.look(isWaiting: true, at: .zero)
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
}
