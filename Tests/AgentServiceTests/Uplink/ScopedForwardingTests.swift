import AgentCore
import AgentStore
import Gate
import Sessions
import Testing

@testable import AgentService

@Suite("Scoped forwarding")
struct ScopedForwardingTests {
    private func write(_ sequence: Int64) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try #require(ObjectID("Session001")),
            user: try #require(ann), acceptedAt: Timestamp(milliseconds: 1_800_000_000_123),
            app: try #require(AppName("thermo")), className: try #require(ClassName("Reading")),
            operation: .create, topic: "postern/v1/x/data/Reading/create", payload: [1])
    }

    private let ann = UserID("ann0000000")

    @Test("buries what an earlier scope accepted and this one does not allow, and goes on")
    func narrowed() throws {
        var forwarder = Forwarder()
        forwarder.forward(ann)
        let scope = Scope(allowsByDefault: false, rules: [], topics: [])
        forwarder.grant(PublishGrants(own: "postern/v1/x/data/", scope: scope, lastBefore: 2))
        let buried = try (1...3).map { try forwarder.buryIfForbidden(write($0)) }
        #expect(buried == [true, true, false])
        #expect(forwarder.buried.map(\.sequence) == [1, 2] && forwarder.position == 2)
        #expect(forwarder.buried.allSatisfy { $0.reason.hasPrefix("scope:default: ") })
        let isOpen = try [forwarder.mayForward(write(3)), forwarder.mayForward(write(1))]
        #expect(isOpen == [true, false])
    }

    @Test("sends nothing before the broker has acknowledged a control message")
    func control() {
        var forwarder = Forwarder()
        forwarder.forward(ann, awaitingControl: true)
        #expect(forwarder.room(receiveMaximum: 20) == 0 && !forwarder.flows)
        forwarder.settle([(packetID: 7, reasonCode: 0x87)], at: .zero)
        // The first write leaves alone: the broker may refuse it, and take the next.
        #expect(forwarder.room(receiveMaximum: 20) == 1 && forwarder.flows)
        // The next connection waits again.
        forwarder.forward(nil)
        forwarder.forward(ann, awaitingControl: true)
        #expect(forwarder.room(receiveMaximum: 20) == 0)
        // A broker that acknowledges nothing is given up, as one that takes nothing.
        forwarder.look(waiting: 1, at: .zero)
        let stall = forwarder.stall(at: .seconds(61))
        #expect(stall != nil)
    }
}
