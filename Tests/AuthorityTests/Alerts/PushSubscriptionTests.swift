import Sessions
import Testing

@testable import AuthorityCore

@Suite("Subscriptions of browsers", .everyStore)
struct PushSubscriptionTests {
    private func order(_ path: String) -> PushOrder {
        PushOrder(
            endpoint: "https://push.example/\(path)", point: [4, 1, 2],
            secret: SecretBytes(Array(path.utf8)))
    }

    private func alert(
        _ board: InstallationID?, _ owner: UserID? = nil, at time: Timestamp
    ) throws -> Alert {
        Alert(
            id: try #require(MessageID("5cddb203-cd7b-4e48-9fc4-0a8904cc36cb")),
            kind: .boardOffline, board: board, owner: owner, boardName: "barn", text: "It is away",
            details: [:], openedAt: time)
    }

    @Test("get the alerts of the present owner's boards, and no others")
    func receivers() async throws {
        let house = try await House()
        let authority = house.authority
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        try await authority.subscribe(order("ada"), by: ada)
        try await authority.subscribe(order("bob"), by: bob)
        let board = try await house.provisioned(BoardDouble(), by: bob).board.installation
        let ours = try alert(board, at: house.clock.now)
        let found = try await authority.pushReceivers(of: ours)
        #expect(found.map(\.endpoint) == ["https://push.example/bob"])
        #expect(found.first?.secret.matches(SecretBytes(Array("bob".utf8))) == true)
        #expect(found.first?.point == [4, 1, 2])
        let before = try alert(board, at: house.clock.now - .seconds(86_400))
        #expect(try await authority.pushReceivers(of: before).isEmpty)
        let many = try alert(nil, ada.user.objectID, at: house.clock.now)
        #expect(try await authority.pushReceivers(of: many).map(\.user) == [ada.user.objectID])
        try await authority.release(board, by: bob)
        #expect(try await authority.pushReceivers(of: ours).isEmpty)
    }

    @Test("are one for each login and one for each address")
    func replaced() async throws {
        let house = try await House()
        let authority = house.authority
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        try await authority.subscribe(order("first"), by: ada)
        try await authority.subscribe(order("second"), by: ada)
        #expect(try await authority.pushSubscription(by: ada)?.endpoint.hasSuffix("second") == true)
        try await authority.subscribe(order("second"), by: bob)
        #expect(try await authority.pushSubscription(by: ada) == nil)
        let former = try #require(try await authority.pushSubscription(by: bob))
        try await authority.subscribe(order("third"), by: bob)
        try await authority.forget(former)
        let present = try #require(try await authority.pushSubscription(by: bob))
        #expect(present.endpoint.hasSuffix("third"))
        try await authority.forget(present)
        #expect(try await authority.pushSubscription(by: bob) == nil)
    }

    @Test("end with the login, and with its person")
    func endings() async throws {
        let house = try await House()
        let authority = house.authority
        let bob = try await house.addUser("bob")
        let many = try alert(nil, bob.user.objectID, at: house.clock.now)
        try await authority.subscribe(order("bob"), by: bob)
        #expect(try await authority.pushReceivers(of: many).count == 1)
        try await authority.unsubscribe(by: bob)
        #expect(try await authority.pushReceivers(of: many).isEmpty)
        try await authority.subscribe(order("bob"), by: bob)
        _ = try await authority.change("bob", UserChange(isEnabled: false), actor: "test")
        #expect(try await authority.pushReceivers(of: many).isEmpty)
        let ada = try await house.login()
        let own = try alert(nil, ada.user.objectID, at: house.clock.now)
        try await authority.subscribe(order("ada"), by: ada)
        try await authority.logout(ada)
        #expect(try await authority.pushReceivers(of: own).isEmpty)
        await #expect(throws: AuthorityError.self) {
            try await authority.subscribe(order("ada"), by: ada)
        }
    }
}
