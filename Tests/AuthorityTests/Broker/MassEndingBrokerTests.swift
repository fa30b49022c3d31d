import AuthorityCore
import Cryptography
import MQTT
import Sessions
import Testing
import Wire

import AuthorityBroker

/// A board that was provisioned over a broker and listens there.
private struct OnlineBoard {
    let board: BoardDouble
    let provision: Provision
    let link: Listener

    init(_ house: RunningHouse, by caller: Caller) async throws {
        let board = try BoardDouble()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: caller)
        let first = try await house.connect(board)
        try await first.client.subscribe([Subscription(board.inbox)])
        let (id, provision) = try await first.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        let accepted = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false,
            body: .provisionAccepted(re: id, session: provision.session.objectID))
        _ = try await first.publish(
            board.outbox,
            board.seal(accepted.plaintext, to: provision.authority.sealKey))
        try await untilTrue { first.hasEnded }
        guard let password = provision.broker?.password else { throw NotThat() }
        self.board = board
        self.provision = provision
        link = try await house.connect(board, password)
        try await link.client.subscribe([Subscription(board.inbox)])
    }

    /// Returns once the board has heard what `read` finds.
    func hear(_ read: (AuthorityMessage.Body) -> Bool) async throws {
        _ = try await link.wait(for: board.inbox) { message -> Bool? in
            guard let said = try? board.open(
                message.payload, from: provision.authority.sealKey), read(said.body)
            else { return nil }
            return true
        }
    }

    func hearRevoked() async throws {
        try await hear { body in
            if case .revoked(_, provision.session.objectID, "revoked") = body { true } else {
                false
            }
        }
    }
}

@Suite("Boards of one user", .serialized)
struct MassEndingBrokerTests {
    @Test("hear together that their sessions are over, by each way to say so",
          arguments: ["revoke --all-of", "password", "disable"])
    func together(way: String) async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        _ = try await house.authority.addUser(
            NewUser(
                username: "bob", password: house.password, isAdministrator: false,
                mayClaim: true),
            by: ada)
        let opened = try await house.authority.login(LoginAttempt(
            username: "bob", password: house.password, origin: "test"))
        let bob = try await house.authority.caller(opened.token)
        var boards: [OnlineBoard] = []
        for _ in 0..<3 { boards.append(try await OnlineBoard(house, by: bob)) }
        let extended = boards[0]
        _ = try await house.authority.extend(
            extended.provision.session.objectID, by: .seconds(3600), shortens: true, by: bob)
        try await extended.hear { if case .updated = $0 { true } else { false } }
        let began = ContinuousClock.now
        switch way {
        case "password":
            try await house.authority.setPassword(
                PasswordChange(
                    username: "bob", password: SecretBytes("another password"), old: nil,
                    keepsBoards: false, origin: "test"),
                by: ada)
        case "disable":
            _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        default:
            // Three boards and the login.
            #expect(try await house.authority.revokeAll(of: "bob", by: ada) == 4)
        }
        for board in boards { try await board.hearRevoked() }
        let took = ContinuousClock.now - began
        print("three boards heard of \(way) within \(took)")
        await house.stop()
    }
}
