import Gate
import Mosquitto
import Sessions
import Testing

@testable import Board

@Suite("Forwarder")
struct ForwarderTests {
    private func write(_ sequence: Int64, user: String = "ann0000000") throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try #require(ObjectID("Session001")),
            user: try #require(UserID(user)),
            acceptedAt: Timestamp(milliseconds: 1_800_000_000_123),
            app: try #require(AppName("thermo")), className: try #require(ClassName("Reading")),
            topic: "postern/v1/x/data/Reading/create", payload: [1, 2, 3])
    }

    private let ann = UserID("ann0000000")

    @Test("lets nothing leave until there is somebody whose it is")
    func closed() throws {
        var forwarder = Forwarder()
        #expect(forwarder.room(window: 100) == 0)
        let write = try write(1)
        #expect(forwarder.mayForward(write) == false)
        forwarder.forward(ann)
        #expect(forwarder.room(window: 100) == 100)
        #expect(forwarder.mayForward(write) == true)
        forwarder.forward(nil)
        #expect(forwarder.room(window: 100) == 0)
        #expect(forwarder.mayForward(write) == false)
    }

    @Test("never lets another user's write leave")
    func foreign() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        let (foreign, own) = (try write(1, user: "bob0000000"), try write(1))
        #expect(forwarder.mayForward(foreign) == false)
        forwarder.skip(1)
        #expect(forwarder.position == 1)
        #expect(forwarder.acknowledged.isEmpty)
        forwarder.forward(UserID("bob0000000"))
        #expect(forwarder.position == 0)
        #expect(forwarder.mayForward(own) == false)
    }

    @Test("removes what was acknowledged, by its sequence and once")
    func acknowledged() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for sequence in 1...3 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence) + 10, at: .zero)
        }
        #expect(forwarder.position == 3)
        forwarder.settle(
            [(packetID: 12, reasonCode: 0), (packetID: 11, reasonCode: 0x10)], at: .zero)
        #expect(forwarder.takeAcknowledged() == [2, 1])
        #expect(forwarder.acknowledged.isEmpty)
        #expect(forwarder.room(window: 100) == 99)
        // While they stand in the queue they are read again, and not sent.
        #expect(forwarder.mayForward(try write(1)) == false)
        forwarder.removed()
        #expect(forwarder.mayForward(try write(1)) == true)
        forwarder.settle(
            [(packetID: 12, reasonCode: 0), (packetID: 99, reasonCode: 0)], at: .zero)
        #expect(forwarder.acknowledged.isEmpty)
    }

    @Test("keeps and counts what the broker refuses", arguments: [0x80, 0x87, 0x97, 0x99, 0xFF])
    func refused(code: Int) throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 11, at: .zero)
        forwarder.sent(2, as: 12, at: .zero)
        forwarder.settle([(packetID: 11, reasonCode: UInt8(code))], at: .zero)
        #expect(forwarder.refusals == 1)
        #expect(forwarder.acknowledged.isEmpty)
        // What follows goes on, or waits a minute where the broker has no room.
        #expect(forwarder.room(window: 100) == (code == 0x97 ? 0 : 99))
        #expect(forwarder.position == 2)
        // Soon it is tried again, and what is still on its way is not.
        forwarder.wake(at: .seconds(9))
        #expect(forwarder.position == 2)
        forwarder.wake(at: .seconds(10))
        #expect(forwarder.position == 0)
        #expect(forwarder.mayForward(try write(1)) == true)
        #expect(forwarder.mayForward(try write(2)) == false)
        forwarder.wake(at: .seconds(59))
        #expect(forwarder.room(window: 100) == (code == 0x97 ? 0 : 99))
        forwarder.wake(at: .seconds(60))
        #expect(forwarder.room(window: 100) == 99)
    }

    @Test("tries what is refused again less and less often, until a connection is new")
    func patience() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        var now = Duration.zero
        for span in [10, 20, 40, 80, 160, 320, 600, 600] {
            forwarder.refuse(1, "no", at: now)
            now += .seconds(span)
            forwarder.wake(at: now - .milliseconds(1))
            #expect(forwarder.position == 1)
            forwarder.wake(at: now)
            #expect(forwarder.position == 0)
        }
        forwarder.forward(nil)
        forwarder.forward(ann)
        forwarder.refuse(1, "no", at: now)
        forwarder.wake(at: now + .seconds(10))
        #expect(forwarder.position == 0)
    }

    @Test("passes over a write that the connection cannot carry, until the next one")
    func unsendable() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.refuse(1, "larger than the 100 bytes that are taken", at: .zero)
        #expect(forwarder.position == 1)
        #expect(forwarder.refusals == 1)
        #expect(forwarder.lastRefusal.contains("100 bytes"))
        forwarder.forward(nil)
        #expect(forwarder.nextDeadline == nil)
        forwarder.forward(ann)
        #expect(forwarder.position == 0)
    }

    @Test("rests when everything is refused")
    func everything() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for sequence in 1...100 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence), at: .zero)
            forwarder.settle([(packetID: Int32(sequence), reasonCode: 0x87)], at: .zero)
        }
        #expect(forwarder.room(window: 100) == 0)
        forwarder.wake(at: .seconds(60))
        #expect(forwarder.room(window: 100) == 100)
    }

    @Test("sends again, after the way was closed, what was not acknowledged")
    func reopened() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 11, at: .zero)
        forwarder.forward(nil)
        forwarder.forward(ann)
        #expect(forwarder.position == 0)
        // A packet id of the old connection means nothing on the new one.
        forwarder.settle([(packetID: 11, reasonCode: 0)], at: .zero)
        #expect(forwarder.acknowledged.isEmpty)
    }

    @Test("gives a connection up that acknowledges nothing for a minute")
    func stalled() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        #expect(!forwarder.isStalled(at: .seconds(1000)))
        forwarder.sent(1, as: 11, at: .seconds(1000))
        forwarder.sent(2, as: 12, at: .seconds(1030))
        #expect(forwarder.nextDeadline == .seconds(1060))
        forwarder.settle([(packetID: 11, reasonCode: 0)], at: .seconds(1050))
        #expect(!forwarder.isStalled(at: .seconds(1109)))
        #expect(forwarder.isStalled(at: .seconds(1110)))
    }

    @Test("does not take a packet id for two writes")
    func packetIDs() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 11, at: .zero)
        let isTold = forwarder.sent(2, as: 11, at: .zero)
        #expect(!isTold)
        #expect(forwarder.position == 1)
    }

    @Test("has no more in flight than the broker takes, nor than its own limit")
    func room() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        #expect(forwarder.room(window: 65_535) == Connection.inFlightWindow)
        #expect(forwarder.room(window: 0) == 0)
        for sequence in 1...20 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence), at: .zero)
        }
        #expect(forwarder.room(window: 20) == 0)
        #expect(forwarder.room(window: 10) == 0)
        #expect(forwarder.room(window: 30) == 10)
    }

    @Test("gives a message its four user properties, QoS 1, never retained")
    func message() throws {
        let message = try write(7).message
        #expect(message.topic == "postern/v1/x/data/Reading/create")
        #expect(message.payload == [1, 2, 3])
        #expect(message.qos == .atLeastOnce)
        #expect(!message.retain)
        #expect(message.properties.userProperties.map { "\($0.name)=\($0.value)" } == [
            "sid=Session001", "seq=7", "ts=1800000000123", "app=thermo",
        ])
    }
}
