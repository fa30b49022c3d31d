import AuthorityCore
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

@Suite("Granted topics", .serialized)
struct GrantedTopicTests {
    @Test("are published by the board whose scope has them, and by no other")
    func granted() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let consumer = try await consumer(of: "home/#", in: house)
        let greenhouse = try await board(granting: ["home/greenhouse/+"], by: ada, in: house)
        let shed = try await board(granting: nil, by: ada, in: house)

        let topic = "home/greenhouse/lamp"
        #expect(try await greenhouse.publish(topic, [1]) < 0x80)
        let heard = try await consumer.wait(for: topic) { $0.payload }
        #expect(heard == [1])
        for other in ["home/greenhouse", "home/greenhouse/a/b", "home/shed/lamp", "home"] {
            #expect(try await greenhouse.publish(other, [2]) == ReasonCode.notAuthorized)
        }
        #expect(try await shed.publish(topic, [3]) == ReasonCode.notAuthorized)
        // Granted for publishing alone.
        let codes = try await greenhouse.client.subscribe([Subscription("home/greenhouse/+")])
        #expect(codes.allSatisfy { $0 >= 0x80 })
        await house.stop()
    }

    /// Claims a board and accepts for it; its connection on its new password.
    private func board(
        granting topics: [String]?, by caller: Caller, in house: RunningHouse
    ) async throws -> Listener {
        let board = try BoardDouble()
        let scope = topics.map { topics in
            ScopeDocument(unchecked: .object(["topics": .array(topics.map { .string($0) })]))
        }
        let claim = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: scope), by: caller)
        let link = try await house.connect(board)
        try await link.client.subscribe([Subscription(board.inbox)])
        let (_, provision) = try await link.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        // Until it has accepted, nothing is granted.
        if let topic = topics?.first?.replacing("+", with: "early") {
            #expect(try await link.publish(topic, []) == ReasonCode.notAuthorized)
        }
        let accepted = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false,
            body: .provisionAccepted(re: claim.id, session: provision.session.objectID))
        let payload = try board.seal(accepted.plaintext, to: provision.authority.sealKey)
        #expect(try await link.publish(board.outbox, payload) < 0x80)
        try await untilTrue { link.hasEnded }
        return try await house.connect(board, try #require(provision.broker?.password))
    }

    /// A program of somebody else's at the same broker, which may read what `filter` matches.
    private func consumer(of filter: String, in house: RunningHouse) async throws -> Listener {
        let password = SecretBytes("a consumer's password")
        let account = BrokerAccount(
            username: "consumer", password: password, clientID: "consumer",
            role: BrokerRole(reader: "consumer", filters: [filter]), owner: nil)
        _ = try await house.server.link.control(account.creation)
        let link = try await house.connect("consumer", password, clientID: "consumer")
        let codes = try await link.client.subscribe([Subscription(filter)])
        #expect(codes.allSatisfy { $0 < 0x80 })
        return link
    }
}
