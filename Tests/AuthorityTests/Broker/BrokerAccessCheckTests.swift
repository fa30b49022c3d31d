import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Broker's door", .everyStore)
struct BrokerDoorTests {
    private let root = TopicRoot.standard

    @Test("lets a board in from claim to farewell, by the password of the moment")
    func life() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let name = board.installation.description
        let door = StoreAccessCheck(authority: house.authority, own: [])
        #expect(try await door.account(named: name) == nil)

        _ = try await house.claim(board, by: ada)
        let open = try #require(try await door.account(named: name))
        #expect(open.admits(try board.brokerPassword, clientID: "postern-\(name)"))
        #expect(!open.admits(try board.brokerPassword, clientID: "postern-other"))
        #expect(!open.admits(try board.brokerPassword, clientID: ""))
        #expect(!open.admits(SecretBytes(Array("x".utf8)), clientID: "postern-\(name)"))
        let data = BrokerAction.publish(topic: "\(root)/\(name)/data/Reading/create")
        #expect(!open.role.permits(data))
        #expect(open.role.permits(.publish(topic: board.outbox)))
        #expect(open.role.permits(.subscribe(filter: board.inbox)))

        let payload = try #require(try await house.retained(board))
        let (id, provision) = try board.openProvision(payload)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        _ = try await live.say(.provisionAccepted(re: id, session: live.session))
        let accepted = try #require(try await door.account(named: name))
        let password = try #require(provision.broker?.password)
        #expect(accepted.admits(password, clientID: "postern-\(name)"))
        #expect(!accepted.admits(try board.brokerPassword, clientID: "postern-\(name)"))
        #expect(accepted.role.permits(data))

        try await house.authority.revoke(live.session, by: ada)
        let leaving = try #require(try await door.account(named: name))
        #expect(!leaving.role.permits(data))
        #expect(leaving.role.permits(.publish(topic: board.outbox)))
        house.clock.advance(.seconds(30 * 86_400))
        _ = try await house.authority.sweep()
        #expect(try await door.account(named: name) == nil)
    }

    @Test("lets a person's program in to read its boards, until the person logs out")
    func person() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let login = try await house.authority.brokerLogin(by: bob)
        let door = StoreAccessCheck(authority: house.authority, own: [])
        let account = try #require(try await door.account(named: login.username))
        #expect(account.admits(login.password, clientID: login.clientID))
        let own = "\(root)/\(live.board.installation)"
        #expect(account.role.permits(.subscribe(filter: "\(own)/data/#")))
        #expect(account.role.permits(.subscribe(filter: "\(own)/data/Reading/+")))
        #expect(account.role.permits(.receive(topic: "\(own)/data/Reading/create")))
        for filter in ["\(root)/+/data/#", "\(own)/#", "\(own)/inbox", "#"] {
            #expect(!account.role.permits(.subscribe(filter: filter)), "\(filter)")
        }
        #expect(!account.role.permits(.publish(topic: "\(own)/data/Reading/create")))
        try await house.authority.logout(bob)
        #expect(try await door.account(named: login.username) == nil)
    }

    @Test("knows nobody by a name that is not its own", arguments: [
        "", "person-", "person-x", "person-0123456789", "postern-authority", "guest",
        "PERSON-0123456789", "00000000-0000-4000-8000-000000000000",
    ])
    func stranger(name: String) async throws {
        let house = try await House()
        let own = BrokerAccount(
            username: "authority", password: SecretBytes(Array("own".utf8)), clientID: nil,
            role: BrokerRole(authorityUnder: root, discovery: .homeAssistant))
        let door = StoreAccessCheck(authority: house.authority, own: [own])
        #expect(try await door.account(named: name) == nil)
        let found = try await door.account(named: "authority")
        #expect(found?.admits(SecretBytes(Array("own".utf8)), clientID: "any") == true)
        #expect(found?.isUsed(by: "postern-x") == true)
    }

    @Test("counts wrong secrets by the address, and no more than a hundred")
    func strangers() async throws {
        let house = try await House()
        let door = StoreAccessCheck(authority: house.authority, own: [])
        for _ in 0..<100 { try await door.countStranger(from: "192.0.2.1") }
        let refusal = Refusal.tooMany("tries", wait: .seconds(300))
        #expect(refusal.text == "too many tries; wait 300 s, then try again")
        await #expect(throws: AuthorityError.refused(refusal)) {
            try await door.countStranger(from: "192.0.2.1")
        }
        try await door.countStranger(from: "192.0.2.2")
        for number in 0..<100 { try await door.countStranger(from: "2001:db8::\(number)") }
        await #expect(throws: AuthorityError.refused(refusal)) {
            try await door.countStranger(from: "2001:db8::ffff")
        }
        try await door.countStranger(from: "2001:db8:0:1::1")
        house.clock.advance(.seconds(301))
        try await door.countStranger(from: "192.0.2.1")
    }

    @Test("grants what the scope's topics name, for publishing alone")
    func granted() throws {
        let board = try #require(InstallationID("00000000-0000-4000-8000-000000000000"))
        let role = BrokerRole(
            board: board, root: root, data: true, extraTopics: ["home/+/lamp", "plain"])
        #expect(role.permits(.publish(topic: "home/a/lamp")))
        #expect(role.permits(.publish(topic: "plain")))
        for topic in ["home/a/b/lamp", "home/+/lamp", "home/#", "plain/a", "", "a\u{0}b"] {
            #expect(!role.permits(.publish(topic: topic)), "\(topic)")
        }
        #expect(!role.permits(.subscribe(filter: "home/a/lamp")))
        #expect(!role.permits(.receive(topic: "home/a/lamp")))
    }

    @Test("lets the authority read every outbox, shared or plainly, and nothing be its board")
    func own() throws {
        let role = BrokerRole(authorityUnder: root, discovery: .homeAssistant)
        let own = "\(root)/+/outbox"
        for filter in ["$share/authority/\(own)", own, "\(root)/+/status"] {
            #expect(role.permits(.subscribe(filter: filter)))
        }
        #expect(role.permits(.publish(topic: "\(root)/x/inbox")))
        #expect(role.permits(.publish(topic: "\(root)/x/status")))
        #expect(role.permits(.publish(topic: "homeassistant/sensor/x/y/config")))
        for act in [
            BrokerAction.publish(topic: "homeassistant/light/x/y/config"),
            .subscribe(filter: "homeassistant/#"),
        ] { #expect(!role.permits(act)) }
        for act in [
            BrokerAction.publish(topic: "\(root)/x/outbox"), .subscribe(filter: "\(root)/+/inbox"),
            .subscribe(filter: "\(root)/+/data/#"), .subscribe(filter: "#"),
            .publish(topic: "$CONTROL/dynamic-security/v1"),
        ] { #expect(!role.permits(act)) }
    }
}
