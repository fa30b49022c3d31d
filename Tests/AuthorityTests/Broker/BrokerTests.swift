import AuthorityCore
import Cryptography
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

@Suite("Embedded broker", .serialized)
struct BrokerTests {
    @Test("lets a board in when it is claimed, provisions it, and lets it go when revoked")
    func wholeLife() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let board = try BoardDouble()
        await #expect(throws: MQTTError.self) { try await house.connect(board) }

        let claim = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        var link = try await house.connect(board)
        try await link.client.subscribe([Subscription(board.inbox)])
        let (id, provision) = try await link.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        #expect(id == claim.id)
        let session = provision.session.objectID
        try await say(.provisionAccepted(re: id, session: session), board, provision, link)
        try await untilTrue { link.hasEnded }
        await #expect(throws: MQTTError.self) { try await house.connect(board) }
        let password = try #require(provision.broker?.password)
        link = try await house.connect(board, password)
        try await link.client.subscribe([Subscription(board.inbox)])

        let reply = try await ask(
            .authenticate(provision.tokens.session, durationMinutes: nil), board, provision,
            link)
        #expect(reply.result?.session?.objectID == session)
        try await expectConfined(link, board)

        let data = "postern/v1/\(board.installation)/data/Reading/create"
        #expect(try await link.publish(data, []) < 0x80)
        try await house.authority.revoke(session, by: ada)
        let revoked = try await link.wait(for: board.inbox) { message -> MessageID? in
            guard let said = try? board.open(
                message.payload, from: provision.authority.sealKey),
                case .revoked(_, session, "revoked") = said.body
            else { return nil }
            return said.id
        }
        #expect(try await link.publish(data, []) == ReasonCode.notAuthorized)
        try await say(.sessionEnded(re: revoked, session: session), board, provision, link)
        try await untilTrue { link.hasEnded }
        await #expect(throws: MQTTError.self) { try await house.connect(board, password) }
        await house.stop()
    }

    @Test("says that a board is down, though its client went before that could be said")
    func downAfterCrash() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let board = try BoardDouble()
        let claim = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let link = try await house.connect(board)
        let up = BoardStatus(up: true, available: true, version: "1", since: systemClock())
        let topic = ContractTopic.status(board.installation).text(under: .standard)
        #expect(try await link.client.publish(
            OutgoingMessage(topic: topic, payload: up.payload, retain: true)) < 0x80)
        try await untilTrue {
            try await house.authority.desiredState(for: board.installation).status?.up == true
        }
        // As an attempt leaves it that did only the first half.
        _ = try await house.server.link.control(BrokerAccount.removal(
            username: board.installation.description,
            role: BrokerRole.boardName(board.installation)))
        try await house.authority.revoke(claim.session, by: ada)
        let login = try await house.authority.brokerLogin(by: ada)
        let reader = try await house.connect(
            login.username, login.password, clientID: login.clientID)
        try await reader.client.subscribe([Subscription(topic)])
        let status = try await reader.wait(for: topic) { message -> BoardStatus? in
            let status = try? BoardStatus(parsing: message.payload)
            return status?.up == false ? status : nil
        }
        #expect(status.version == "1")
        await house.stop()
    }

    /// Own inbox only, own data only, nobody else's anything.
    private func expectConfined(_ link: Listener, _ board: BoardDouble) async throws {
        let other = try BoardDouble()
        let filters = [
            other.inbox, "postern/v1/+/inbox", "#", "+/#", "$SYS/#", board.outbox,
            "postern/v1/\(board.installation)/#", "$CONTROL/dynamic-security/v1/response",
            "$share/authority/postern/v1/+/outbox",
        ]
        for filter in filters {
            let codes = try await link.client.subscribe([Subscription(filter)])
            #expect(codes.allSatisfy { $0 >= 0x80 }, "\(filter)")
        }
        let topics = [
            other.outbox, other.inbox, board.inbox, "other/topic",
            "postern/v1/\(other.installation)/data/Reading/create",
            "postern/v1/\(other.installation)/status",
        ]
        for topic in topics {
            let code = try await link.publish(topic, [1])
            #expect(code >= 0x80, "\(topic)")
        }
    }

    @Test("gives a person's program what its boards say, until the person logs out")
    func consumer() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let login = try await house.authority.brokerLogin(by: ada)
        let link = try await house.connect(
            login.username, login.password, clientID: login.clientID)
        let codes = try await link.client.subscribe(login.filters.map { Subscription($0) })
        #expect(codes.allSatisfy { $0 < 0x80 })
        let inboxes = try await link.client.subscribe([Subscription("postern/v1/+/inbox")])
        #expect(inboxes.allSatisfy { $0 >= 0x80 })
        let board = try BoardDouble()
        #expect(try await link.publish(board.inbox, [1]) >= 0x80)
        await #expect(throws: MQTTError.self, "it may take no board's client id") {
            try await house.connect(
                login.username, login.password, clientID: "postern-\(board.installation)")
        }
        try await house.authority.logout(ada)
        try await untilTrue { link.hasEnded }
        await house.stop()
    }

    @Test("has every login back after a restart, its access file lost")
    func restart() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        await house.stop()
        let again = try await RunningHouse(folder: house.folder)
        let link = try await again.connect(board)
        try await link.client.subscribe([Subscription(board.inbox)])
        _ = try await link.wait(for: board.inbox) { try? board.openProvision($0.payload) }
        await link.client.close()
        await again.stop()
    }

    private func say(
        _ body: BoardMessage.Body, _ board: BoardDouble, _ provision: Provision,
        _ link: Listener
    ) async throws {
        let message = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false, body: body)
        let payload = try board.seal(message.plaintext, to: provision.authority.sealKey)
        #expect(try await link.publish(board.outbox, payload) < 0x80)
    }

    private func ask(
        _ body: BoardMessage.Body, _ board: BoardDouble, _ provision: Provision,
        _ link: Listener
    ) async throws -> Reply {
        let message = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false, body: body)
        let payload = try board.seal(message.plaintext, to: provision.authority.sealKey)
        #expect(try await link.publish(board.outbox, payload) < 0x80)
        return try await link.wait(for: board.inbox) { incoming in
            guard let said = try? board.open(
                incoming.payload, from: provision.authority.sealKey),
                case .reply(let reply) = said.body, reply.re == message.id
            else { return nil }
            return reply
        }
    }
}
