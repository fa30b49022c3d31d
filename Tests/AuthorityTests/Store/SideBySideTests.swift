import AuthorityCore
import AuthorityStore
import Foundation
import HTTPClient
import Logging
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

/// Two authorities on one store, beside each other at one broker.
@Suite("Authorities side by side", .serialized)
struct SideBySideTests {
    private struct Pair {
        let server = SharedServer()
        let broker: ExternalBroker
        let first: RunningHouse
        let second: RunningHouse

        init() async throws {
            broker = try ExternalBroker()
            try await broker.start(accounts: [])
            first = try await RunningHouse(broker: broker, sharing: server)
            second = try await RunningHouse(
                folder: first.folder, broker: broker, sharing: server)
        }

        func stop() async {
            await first.stop()
            await second.stop()
            await broker.stop()
        }
    }

    @Test("settle what the other began, and one of them keeps what boards say of themselves",
          .timeLimit(.minutes(5)))
    func shared() async throws {
        let pair = try await Pair()
        let ada = try await pair.first.login()
        let board = try BoardDouble()
        _ = try await pair.second.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let link = try await pair.first.connect(board)
        try await link.client.subscribe([Subscription(board.inbox)])
        let (id, provision) = try await link.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        let accepted = BoardMessage.Body.provisionAccepted(
            re: id, session: provision.session.objectID)
        _ = try await link.publish(board.outbox, try sealed(accepted, board, provision))
        try await untilTrue {
            // It is nobody's until the acceptance is there.
            (try? await pair.second.authority.board(
                board.installation, by: ada))?.board.session != nil
        }
        let readers = [pair.first, pair.second].filter(\.server.duty.isReader)
        #expect(readers.count == 1)

        // Whichever reads, the other goes on where it leaves.
        let stays = readers.first === pair.first ? pair.second : pair.first
        await readers.first?.server.leave()
        try await untilTrue { stays.server.duty.isReader }
        try await stillHeard(by: stays, board, provision, of: ada)
        await link.client.close()
        await pair.stop()
    }

    private func stillHeard(
        by house: RunningHouse, _ board: BoardDouble, _ provision: Provision, of owner: Caller
    ) async throws {
        let request = BoardMessage.Body.authenticate(
            provision.tokens.session, durationMinutes: nil)
        // Its new password may have cut it off.
        let link = try await until {
            try await house.connect(board, provision.broker?.password)
        }
        try await link.client.subscribe([Subscription(board.inbox)])
        _ = try await link.publish(board.outbox, try sealed(request, board, provision))
        _ = try await link.wait(for: board.inbox) { message in
            guard let opened = try? board.open(message.payload, from: provision.authority.sealKey),
                case .reply = opened.body
            else { return nil as Bool? }
            return true
        }
        let up = BoardStatus(
            up: true, available: true, version: "t", since: systemClock(), gaps: .none)
        _ = try await link.publish("postern/v1/\(board.installation)/status", up.payload)
        try await untilTrue {
            try await house.authority.board(
                board.installation, by: owner).board.status?.up == true
        }
        await link.client.close()
    }

    @Test("send requests elsewhere before they leave", .timeLimit(.minutes(5)))
    func draining() async throws {
        let pair = try await Pair()
        let url = "http://127.0.0.1:\(pair.first.httpPort)/postern/v1/health"
        let ready = try await HTTPRequest("GET", url).answer()
        #expect(ready.status == 200)
        #expect(ready.header("connection") != "close")
        let leaving = Task { await pair.first.server.leave() }
        try await untilTrue {
            let answer = try await HTTPRequest("GET", url).answer()
            return answer.status == 503 && answer.header("connection") == "close"
        }
        // Until everybody had the time to hear of it, who comes is answered.
        let info = try await HTTPRequest(
            "GET", "http://127.0.0.1:\(pair.first.httpPort)/postern/v1/info").answer()
        #expect(info.status == 200)
        await leaving.value
        try await untilTrue {
            (try? await HTTPRequest("GET", url).answer()) == nil
        }
        await pair.stop()
    }

    private func sealed(
        _ body: BoardMessage.Body, _ board: BoardDouble, _ provision: Provision
    ) throws -> [UInt8] {
        let message = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false, body: body)
        return try board.seal(message.plaintext, to: provision.authority.sealKey)
    }
}

@Suite("A duty of one of several")
struct ReaderDutyTests {
    private func duty(_ house: House, _ server: SharedServer) -> ReaderDuty {
        ReaderDuty(SharedStore(house.store, server), root: .standard)
    }

    @Test("is one's, until that one leaves it or loses it")
    func handedOn() async throws {
        let house = try await House()
        let server = SharedServer()
        let (first, second) = (duty(house, server), duty(house, server))
        await first.begin(isSharing: false)
        await second.begin(isSharing: false)
        #expect(first.mayAnswer && !second.mayAnswer)
        #expect(await second.look() == .none)
        await first.release()
        #expect(!first.mayAnswer)
        #expect(await second.look() == .gained)
        #expect(await first.look() == .none)

        server.dropHolds()
        #expect(!second.mayAnswer)
        #expect(await first.look() == .gained)
        #expect(await second.look() == .lost)
        #expect(await second.look() == .none)
        await first.release(forGood: true)
        #expect(await first.look() == .none)
    }

    @Test("is all of a board's requests only where the broker cannot share them")
    func sharing() async throws {
        let house = try await House()
        let server = SharedServer()
        let (first, second) = (duty(house, server), duty(house, server))
        await first.begin(isSharing: true)
        await second.begin(isSharing: true)
        #expect(first.isReader && !second.isReader)
        #expect(first.mayAnswer && second.mayAnswer)
    }
}
