import AgentCore
import AgentStore
import Gate
import MQTT
import Sessions
import Testing

@testable import AgentService

@Suite("Forwarder")
struct ForwarderTests {
    private func write(
        _ sequence: Int64, user: String = "ann0000000",
        topic: String = "postern/v1/x/data/Reading/create", payload: [UInt8] = [1, 2, 3]
    ) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try #require(ObjectID("Session001")),
            user: try #require(UserID(user)),
            acceptedAt: Timestamp(milliseconds: 1_800_000_000_123),
            app: try #require(AppName("thermo")), className: try #require(ClassName("Reading")),
            operation: .create, topic: topic, payload: payload)
    }

    private let ann = UserID("ann0000000")

    @Test("lets nothing leave until there is somebody whose it is")
    func closed() throws {
        var forwarder = Forwarder()
        #expect(forwarder.room(receiveMaximum: 100) == 0)
        let write = try write(1)
        #expect(forwarder.mayForward(write) == false)
        forwarder.forward(ann)
        #expect(forwarder.room(receiveMaximum: 20) == 20)
        #expect(forwarder.mayForward(write) == true)
        forwarder.forward(nil)
        #expect(forwarder.room(receiveMaximum: 100) == 0)
        #expect(forwarder.mayForward(write) == false)
    }

    @Test("awaits what was sent until it is answered or the way is closed")
    func awaited() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for sequence in 1...4 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence) + 10, at: .zero)
        }
        #expect(forwarder.awaited == [1, 2, 3, 4])
        forwarder.settle([(11, 0), (13, 0x97)], at: .zero)
        #expect(forwarder.awaited == [2, 4])
        forwarder.forward(nil)
        #expect(forwarder.awaited.isEmpty)
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
        let taken = forwarder.takeAcknowledged()
        #expect(taken == [2, 1])
        #expect(try [1, 2, 3].map { try forwarder.mayForward(write($0)) }
            == [false, false, false])
        // Others go meanwhile; these do not go again while they stand in the queue.
        #expect(forwarder.room(receiveMaximum: 20) == 19)
        forwarder.forward(nil)
        forwarder.forward(ann)
        #expect(forwarder.position == 0)
        #expect(try [1, 2, 3].map { try forwarder.mayForward(write($0)) } == [false, false, true])
        forwarder.removed()
        #expect(forwarder.acknowledged.isEmpty)
        forwarder.settle(
            [(packetID: 12, reasonCode: 0), (packetID: 99, reasonCode: 0)], at: .zero)
        #expect(forwarder.acknowledged.isEmpty)
    }

    @Test("makes of each reason code what it says of the write", arguments: [
        (0x00, BrokerAnswer.taken), (0x10, .taken), (0x80, .later), (0x83, .later),
        (0x87, .forbidden), (0x90, .never), (0x91, .later), (0x95, .never), (0x97, .later),
        (0x99, .never), (0xFF, .later),
    ])
    func codes(code: Int, answer: BrokerAnswer) {
        #expect(BrokerAnswer(UInt8(code)) == answer)
    }

    @Test("holds all writes at one that is refused for now, and goes on at it, in order",
          arguments: [0x80, 0x83, 0x97])
    func refused(code: Int) throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for sequence in 1...4 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence), at: .zero)
        }
        forwarder.settle([(1, 0), (2, UInt8(code)), (4, 0)], at: .zero)
        #expect(forwarder.refusals == 1)
        #expect(forwarder.acknowledged == [1, 4])
        #expect(forwarder.room(receiveMaximum: 100) == 0)
        #expect(forwarder.nextDeadline == .seconds(1))
        let news1 = forwarder.takeHoldNews()
        #expect(news1 == .some(.refused(ReasonCode.text(UInt8(code)))))
        let news2 = forwarder.takeHoldNews()
        #expect(news2 == nil)
        forwarder.wake(at: .milliseconds(999))
        #expect(forwarder.room(receiveMaximum: 100) == 0)
        forwarder.wake(at: .seconds(1))
        #expect(forwarder.position == 1)
        #expect(try (1...4).map { try forwarder.mayForward(write($0)) }
            == [false, true, false, false])
        // The third is still on its way, and the window is one.
        #expect(forwarder.room(receiveMaximum: 100) == 0)
        forwarder.settle([(3, 0)], at: .seconds(1))
        let news3 = forwarder.takeHoldNews()
        #expect(news3 == .some(nil))
        #expect(forwarder.room(receiveMaximum: 100) == 2)
        forwarder.sent(2, as: 5, at: .seconds(1))
        forwarder.settle([(5, 0)], at: .seconds(1))
        #expect(forwarder.room(receiveMaximum: 100) == 3)
        #expect(forwarder.hold == nil)
    }

    @Test("tries what is refused again less and less often, across connections")
    func patience() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        var now = Duration.zero
        var packetID: Int32 = 0
        for span in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
            packetID += 1
            forwarder.sent(1, as: packetID, at: now)
            forwarder.settle([(packetID, 0x97)], at: now)
            forwarder.forward(nil)
            forwarder.forward(ann)
            now += .seconds(span)
            forwarder.wake(at: now - .milliseconds(1))
            #expect(forwarder.room(receiveMaximum: 100) == 0)
            forwarder.wake(at: now)
            #expect(forwarder.room(receiveMaximum: 100) == 1)
        }
        forwarder.sent(1, as: 99, at: now)
        forwarder.settle([(99, 0)], at: now)
        forwarder.sent(2, as: 100, at: now)
        forwarder.settle([(100, 0x97)], at: now)
        #expect(forwarder.nextDeadline == now + .seconds(1))
    }

    @Test("holds what is forbidden until the authority has answered, and then tries soon")
    func forbidden() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        var now = Duration.zero
        for span in [1, 2, 4] {
            forwarder.sent(1, as: 1, at: now)
            forwarder.settle([(1, 0x87)], at: now)
            let news4 = forwarder.takeHoldNews()
            #expect(news4 == .some(.forbidden))
            #expect(forwarder.holdEnds == now + .seconds(600))
            now += .seconds(5)
            forwarder.retry(at: now)
            // A second answer is none to this refusal.
            forwarder.retry(at: now)
            #expect(forwarder.holdEnds == now + .seconds(span))
            now += .seconds(span)
            forwarder.wake(at: now)
        }
        forwarder.retry(at: now)
        #expect(forwarder.room(receiveMaximum: 100) == 1)
    }

    @Test("takes a DISCONNECT that refuses all writes for what a PUBACK would say", arguments: [
        (0x87, WriteHold.forbidden), (0x97, .refused(ReasonCode.text(0x97))),
    ])
    func disconnected(code: Int, hold: WriteHold) {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.connectionEnded(.told(UInt8(code)), at: .zero)
        #expect(forwarder.hold == nil)
        for _ in 1...10 {
            forwarder.sent(1, as: 1, at: .zero)
            forwarder.sent(2, as: 2, at: .zero)
            forwarder.connectionEnded(.told(UInt8(code)), at: .zero)
            forwarder.forward(nil)
            forwarder.forward(ann)
            #expect(forwarder.hold == hold)
            #expect(forwarder.room(receiveMaximum: 100) == 0)
            #expect(!forwarder.watchesEnd)
            forwarder.wake(at: .seconds(600))
        }
        #expect(forwarder.buried.isEmpty)
    }

    @Test("holds no write of another user's for what one was refused")
    func anotherUser() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 1, at: .zero)
        forwarder.settle([(1, 0x87)], at: .zero)
        forwarder.forward(nil)
        forwarder.forward(UserID("bob0000000"))
        #expect(forwarder.hold == nil)
        #expect(forwarder.room(receiveMaximum: 20) == 20)
    }

    @Test("buries what can never be taken, and the others go on", arguments: [0x90, 0x95, 0x99])
    func never(code: Int) throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.sent(1, as: 1, at: .zero)
        forwarder.sent(2, as: 2, at: .zero)
        forwarder.settle([(1, UInt8(code)), (2, 0)], at: .zero)
        #expect(forwarder.buried.map(\.sequence) == [1])
        #expect(forwarder.buried[0].reason.contains(ReasonCode.text(UInt8(code))))
        #expect(forwarder.acknowledged == [2])
        #expect(forwarder.room(receiveMaximum: 20) == 20)
        // It stands in the queue until it is moved, and is not sent meanwhile.
        forwarder.forward(nil)
        forwarder.forward(ann)
        #expect(try forwarder.mayForward(write(1)) == false)
        forwarder.buriedAll()
        #expect(forwarder.buried.isEmpty)
    }

    @Test("buries a write that the connection cannot carry")
    func unsendable() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        forwarder.bury(1, "larger than the 100 bytes that are allowed")
        #expect(forwarder.position == 1)
        #expect(forwarder.refusals == 1)
        #expect(forwarder.lastRefusal.contains("100 bytes"))
        #expect(forwarder.buried.map(\.sequence) == [1])
    }

    @Test("buries a write elsewhere whose topic is no longer granted, and no other")
    func grants() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        let own = try write(1), elsewhere = try write(2, topic: "plant/1/power")
        let isOpen = !forwarder.buryIfForbidden(elsewhere)
        #expect(isOpen)
        let filter = try #require(TopicFilter("plant/+/power"))
        let scope = Scope(allowsByDefault: true, rules: [], topics: [filter])
        let root = "postern/v1/x/data/"
        forwarder.grant(PublishGrants(own: root, scope: scope, lastBefore: 0))
        var buried = [own, elsewhere].map { forwarder.buryIfForbidden($0) }
        #expect(buried == [false, false])
        forwarder.grant(PublishGrants(own: root, scope: nil, lastBefore: 0))
        buried = [own, elsewhere].map { forwarder.buryIfForbidden($0) }
        #expect(buried == [false, true])
        #expect(forwarder.buried.map(\.reason) == ["its topic is not granted any more"])
    }

    @Test("has about 1 MiB of payload in flight at the most, and one write of any size")
    func bytes() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        let large = try write(1, payload: Array(repeating: 0, count: 600_000))
        #expect(forwarder.hasRoom(for: large))
        forwarder.sent(1, as: 1, size: 600_000, at: .zero)
        #expect(!forwarder.hasRoom(for: large))
        #expect(try forwarder.hasRoom(for: write(2)))
        forwarder.settle([(1, 0)], at: .zero)
        #expect(forwarder.hasRoom(for: large))
    }

    @Test("buries the write that ends three connections in a row, and goes on behind it")
    func poison() throws {
        var forwarder = Forwarder()
        for connection in 1...5 {
            forwarder.forward(ann)
            while forwarder.wantsControl {
                #expect(forwarder.room(receiveMaximum: 100) == 0)
                forwarder.controlSent()
                forwarder.settle([(7, 0)], at: .zero)
            }
            #expect(forwarder.room(receiveMaximum: 20) == (connection > 2 ? 1 : 20))
            #expect(forwarder.watchesEnd == (connection > 2))
            forwarder.sent(1, as: 1, at: .zero)
            forwarder.connectionEnded(.closed, at: .milliseconds(10))
            let isOver = forwarder.takeUnblocked()
            #expect(isOver == (connection == 5))
            forwarder.forward(nil)
        }
        #expect(forwarder.buried.map(\.sequence) == [1])
        forwarder.forward(ann)
        #expect(try [1, 2].map { try forwarder.mayForward(write($0)) } == [false, true])
        #expect(!forwarder.flows)
        while forwarder.wantsControl {
            forwarder.controlSent()
            forwarder.settle([(7, 0)], at: .zero)
        }
        forwarder.sent(2, as: 2, at: .zero)
        forwarder.settle([(2, 0)], at: .zero)
        #expect(forwarder.flows)
        #expect(forwarder.room(receiveMaximum: 20) == 20)
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
        #expect(forwarder.stall(at: .seconds(1000)) == nil)
        forwarder.sent(1, as: 11, at: .seconds(1000))
        forwarder.sent(2, as: 12, at: .seconds(1030))
        #expect(forwarder.nextDeadline == .seconds(1060))
        forwarder.settle([(packetID: 11, reasonCode: 0)], at: .seconds(1050))
        #expect(forwarder.stall(at: .seconds(1109)) == nil)
        #expect(forwarder.stall(at: .seconds(1110)) == "no PUBACK for write 2 in 60 s")
    }

    @Test("gives a connection up that acknowledges all others but one")
    func overtaken() {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        for number in 1...5000 {
            let now = Duration.milliseconds(number * 20)
            // A packet id comes again, once it is nobody's.
            let packetID: (Int) -> Int32 = { $0 == 1 ? 9 : Int32(10 + $0 % 3) }
            forwarder.sent(Int64(number), as: packetID(number), at: now)
            if number > 2 { forwarder.settle([(packetID(number - 1), 0)], at: now) }
            if let stall = forwarder.stall(at: now) {
                #expect(stall == "no PUBACK for write 1 in 60 s, and 2999 of later ones")
                return
            }
        }
        Issue.record("it was not noticed")
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
        #expect(forwarder.room(receiveMaximum: 65_535) == Forwarder.part)
        #expect(forwarder.room(receiveMaximum: 0) == 0)
        for sequence in 1...20 as ClosedRange<Int64> {
            forwarder.sent(sequence, as: Int32(sequence), at: .zero)
        }
        #expect(forwarder.room(receiveMaximum: 20) == 0)
        #expect(forwarder.room(receiveMaximum: 10) == 0)
        #expect(forwarder.room(receiveMaximum: 30) == 10)
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
