import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Consumers", .everyStore)
struct ConsumerTests {
    private let root = TopicRoot.standard

    private func order(
        _ name: String, boards: [LiveBoard]? = nil, classes: [String]? = nil,
        end: ConsumerOrder.End? = nil
    ) throws -> ConsumerOrder {
        ConsumerOrder(
            name: try #require(ConsumerName(name)),
            boards: boards?.map { $0.board.installation },
            classes: try classes?.map { try #require(ClassName($0)) }, end: end)
    }

    private func door(_ house: House) -> StoreAccessCheck {
        StoreAccessCheck(authority: house.authority, own: [])
    }

    @Test("read the named boards and classes of their user, and nothing else")
    func named() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let named = try await house.provisioned(BoardDouble(), by: bob)
        let other = try await house.provisioned(BoardDouble(), by: bob)
        let made = try await house.authority.addConsumer(
            order("hall", boards: [named], classes: ["Reading", "Alarm"]), by: bob)
        let own = "\(root)/\(named.board.installation)"
        #expect(made.login.filters == [
            "\(own)/data/Reading/#", "\(own)/data/Alarm/#", "\(own)/status",
        ])
        #expect(made.login.clientID == "postern-\(made.login.username)")
        let account = try #require(try await door(house).account(named: made.login.username))
        #expect(account.admits(made.login.password, clientID: made.login.clientID))
        #expect(!account.admits(made.login.password, clientID: "postern-other"))
        for topic in ["\(own)/data/Reading/create", "\(own)/data/Alarm/update/x", "\(own)/status"] {
            #expect(account.role.permits(.receive(topic: topic)), "\(topic)")
            #expect(account.role.permits(.subscribe(filter: topic)), "\(topic)")
            #expect(!account.role.permits(.publish(topic: topic)), "\(topic)")
        }
        let foreign = "\(root)/\(other.board.installation)"
        for topic in [
            "\(own)/data/Readings/create", "\(own)/inbox", "\(own)/outbox", "\(own)/data/#",
            "\(foreign)/data/Reading/create", "\(foreign)/status", "\(root)/+/status",
            "\(root)/+/data/Reading/#", "#", "$SYS/#", "$CONTROL/dynamic-security/v1/response",
            "$share/x/\(own)/status",
        ] {
            #expect(!account.role.permits(.subscribe(filter: topic)), "\(topic)")
        }
        #expect(!account.role.permits(.receive(topic: "\(foreign)/data/Reading/create")))
    }

    @Test("without named boards read all boards of their user, also an administrator's own alone")
    func all() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        _ = try await house.provisioned(BoardDouble(), by: bob)
        let made = try await house.authority.addConsumer(order("all"), by: ada)
        #expect(made.login.filters == [])
        let own = try await house.provisioned(BoardDouble(), by: ada)
        let state = try #require(try await house.authority.desiredState(for: reader(made)))
        let first = "\(root)/\(own.board.installation)"
        #expect(state.filters == ["\(first)/data/#", "\(first)/status"])
        #expect(state.wide == house.administratorFilters)
        // A broker that asks may not check what it delivers, so it gets no wide filter.
        let account = try #require(try await door(house).account(named: made.login.username))
        #expect(!account.role.permits(.subscribe(filter: "\(root)/+/data/#")))
        let told = BrokerAccount(reader: state, root: root, checksDeliveries: true)
        #expect(told.role.permits(.subscribe(filter: "\(root)/+/data/#")))
        #expect(!told.role.permits(.subscribe(filter: "\(root)/+/data/Reading/#")))
        #expect(!told.role.permits(.receive(topic: "\(root)/x/data/Reading/create")))
    }

    private func reader(_ made: NewConsumer) throws -> BrokerReader {
        try #require(BrokerReader(username: made.login.username))
    }

    @Test("lose a board when it is released, and do not get it back from its next owner")
    func released() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let carol = try await house.addUser("carol")
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: bob)
        let named = try await house.authority.addConsumer(
            order("named", boards: [live]), by: bob)
        let all = try await house.authority.addConsumer(order("all"), by: bob)
        _ = house.worker.woken()
        try await house.authority.release(board.installation, by: bob)
        let lines = [try reader(named).line, try reader(all).line]
        #expect(house.worker.woken().isSuperset(of: lines))
        for line in lines {
            let jobs = try await house.authority.jobs(in: line).map(\.job)
            #expect(jobs.contains { job in
                if case .reader(_, mayDoLess: true) = job { true } else { false }
            })
        }
        func filters() async throws -> [[String]?] {
            [try await house.authority.desiredState(for: reader(named))?.filters,
             try await house.authority.desiredState(for: reader(all))?.filters]
        }
        #expect(try await filters() == [[], []])
        _ = try await house.provisioned(board.pairedAnew(), by: carol)
        #expect(try await filters() == [[], []])
    }

    @Test("read what is announced of their own boards, and only where all classes are theirs")
    func announced() async throws {
        let house = try await House()
        let (bob, carol) = (try await house.addUser("bob"), try await house.addUser("carol"))
        let own = try await house.provisioned(BoardDouble(), by: bob).board.installation
        let foreign = try await house.provisioned(BoardDouble(), by: carol).board.installation
        let authority = house.announcing(below: try #require(TopicRoot("ha/x")))
        func role(
            _ name: String, boards: [InstallationID]?, classes: [ClassName]?, checked: Bool
        ) async throws -> (role: BrokerRole, topics: [String]) {
            let made = try await authority.addConsumer(
                ConsumerOrder(
                    name: #require(ConsumerName(name)), boards: boards, classes: classes), by: bob)
            let state = try #require(try await authority.desiredState(for: reader(made)))
            let account = BrokerAccount(reader: state, root: root, checksDeliveries: checked)
            return (account.role, made.login.filters)
        }
        let asked = ["ha/x/#", "ha/x/+/+/config", "ha/x/+/+/+/config", "ha/x/sensor/+/+/config"]
        let message = "ha/x/sensor/\(own)/Reading-celsius/config"
        for (name, boards) in [("all", nil), ("named", [own])] {
            let (role, topics) = try await role(name, boards: boards, classes: nil, checked: true)
            for filter in asked { #expect(role.permits(.subscribe(filter: filter)), "\(filter)") }
            #expect(role.permits(.receive(topic: message)))
            for topic in [
                "ha/x/sensor/\(foreign)/Reading-celsius/config", "ha/x/light/\(own)/a/config",
                "ha/x/sensor/\(own)/config", "ha/x/sensor/\(own)/a/b/config", "ha/x/status",
            ] { #expect(!role.permits(.receive(topic: topic)), "\(topic)") }
            for filter in ["#", "ha/#", "+/x/#", "homeassistant/#", "$share/a/ha/x/#"] {
                #expect(!role.permits(.subscribe(filter: filter)), "\(filter)")
            }
            #expect(!role.permits(.publish(topic: message)))
            // The broker of this test is said to check no deliveries.
            #expect(!topics.contains { $0.hasPrefix("ha/") })
        }
        // A broker that checks subscriptions alone could not keep foreign messages back.
        let (unchecked, _) = try await role("asked", boards: nil, classes: nil, checked: false)
        for filter in asked { #expect(!unchecked.permits(.subscribe(filter: filter))) }
        #expect(unchecked.permits(.subscribe(filter: "ha/x/sensor/\(own)/+/config")))
        let reading = try #require(ClassName("Reading"))
        let (narrow, topics) = try await role(
            "narrow", boards: [own], classes: [reading], checked: true)
        #expect(!narrow.permits(.receive(topic: message)))
        #expect(!narrow.permits(.subscribe(filter: "ha/x/#")))
        #expect(!topics.contains { $0.hasPrefix("ha/") })
    }

    @Test("end at their time, without a sweep, and their rows soon after")
    func until() async throws {
        let house = try await House()
        let ada = try await house.login()
        let made = try await house.authority.addConsumer(
            order("short", end: .after(.seconds(60))), by: ada)
        #expect(made.consumer.until == house.clock.now + .seconds(60))
        try await house.authority.endDueConsumers()
        #expect(try await house.authority.consumers(by: ada).count == 1)
        house.clock.advance(.seconds(60))
        #expect(try await house.authority.desiredState(for: reader(made)) == nil)
        #expect(try await door(house).account(named: made.login.username) == nil)
        _ = house.worker.woken()
        try await house.authority.endDueConsumers()
        #expect(try await house.authority.consumers(by: ada).isEmpty)
        #expect(house.worker.woken().contains(try reader(made).line))
        #expect(try await house.audit("consumer.ended").map(\.detail) == ["short"])
    }

    @Test("end by their user's removal, and no other user can list or remove them")
    func removed() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let made = try await house.authority.addConsumer(order("hall"), by: bob)
        let name = try #require(ConsumerName("hall"))
        #expect(try await house.authority.consumers(by: ada).isEmpty)
        await expectRefusal(.notFound) {
            try await house.authority.removeConsumer(name, by: ada)
        }
        #expect(try await house.authority.consumers(by: bob).map(\.name) == [name])
        #expect(try await house.authority.removeConsumer(name, by: bob))
        #expect(try await house.authority.desiredState(for: reader(made)) == nil)
        #expect(try await house.audit("consumer.added").map(\.actor) == ["bob"])
        #expect(try await house.audit("consumer.removed").map(\.actor) == ["bob"])
        await expectRefusal(.notFound) {
            try await house.authority.removeConsumer(name, by: bob)
        }
    }

    @Test("end with their user, and by a sign-out everywhere unless boards stay")
    func user() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let made = try await house.authority.addConsumer(order("one"), by: bob)
        _ = try await house.authority.revokeAll(of: "bob", keepsBoards: true, by: bob)
        #expect(try await house.authority.desiredState(for: reader(made)) != nil)
        _ = try await house.authority.revokeAll(of: "bob", keepsBoards: false, by: bob)
        #expect(try await house.authority.desiredState(for: reader(made)) == nil)
        let second = try await house.authority.addConsumer(order("two"), by: bob)
        _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        #expect(try await house.authority.desiredState(for: reader(second)) == nil)
        _ = try await house.authority.setEnabled(true, user: "bob", by: ada)
        #expect(try await house.authority.desiredState(for: reader(second)) == nil)
    }

    @Test("are bounded, and each refusal has its number")
    func bounds() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        func refused(
            _ code: ErrorCode, _ word: String, _ order: ConsumerOrder
        ) async throws {
            do {
                _ = try await house.authority.addConsumer(order, by: bob)
                Issue.record("\(word) is allowed")
            } catch AuthorityError.refused(let refusal) {
                #expect(refusal.is(code) && refusal.text.contains(word), "\(refusal.text)")
            }
        }
        let foreign = try (0..<201).map { _ in try BoardDouble().installation }
        let name = try #require(ConsumerName("x"))
        try await refused(.validation, "200", ConsumerOrder(name: name, boards: foreign))
        try await refused(.notFound, "own boards", ConsumerOrder(name: name, boards: [foreign[0]]))
        try await refused(.validation, "1 to 200", ConsumerOrder(name: name, boards: []))
        try await refused(
            .validation, "20", order("x", boards: [live], classes: (0..<21).map { "C\($0)" }))
        for end in [ConsumerOrder.End.at(house.clock.now), .after(.seconds(11 * 366 * 86_400))] {
            try await refused(.validation, "10 years", order("x", end: end))
        }
        for number in 0..<32 {
            _ = try await house.authority.addConsumer(order("c\(number)"), by: bob)
        }
        try await refused(.quota, "32", order("one-more"))
        _ = try await house.authority.removeConsumer(#require(ConsumerName("c0")), by: bob)
        try await refused(.validation, "already", order("c1"))
    }

    @Test("are not there if the broker did not learn of them")
    func brokerAway() async throws {
        let house = try await House()
        let ada = try await house.login()
        house.worker.fail(true)
        await #expect(throws: AuthorityError.self) {
            try await house.authority.addConsumer(order("hall"), by: ada)
        }
        #expect(try await house.authority.consumers(by: ada).isEmpty)
        house.worker.fail(false)
        _ = try await house.authority.addConsumer(order("hall"), by: ada)
    }

    @Test("are refused to a restricted session")
    func restricted() async throws {
        let house = try await House()
        let ada = try await house.login()
        let device = try await house.device(by: ada).caller
        await expectRefusal(.forbidden) {
            try await house.authority.addConsumer(order("hall"), by: device)
        }
        await expectRefusal(.forbidden) { try await house.authority.consumers(by: device) }
        await expectRefusal(.forbidden) {
            try await house.authority.removeConsumer(#require(ConsumerName("x")), by: device)
        }
    }

    @Test("have names of one form", arguments: [
        ("hall", true), ("a.b-c_9", true), ("", false), ("-x", false), (".x", false),
        ("a b", false), ("a@b", false), ("ä", false), ("a/b", false), ("a\n", false),
        (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
    ])
    func name(text: String, isOne: Bool) {
        #expect((ConsumerName(text) != nil) == isOne)
    }

    @Test("have user names that parse back, and no others do", arguments: [
        "consumer-", "consumer-x", "consumer-AAAAAAAAAA/", "CONSUMER-AAAAAAAAAA", "consumer",
    ])
    func username(wrong: String) throws {
        let id = try #require(ObjectID("AAAAAAAAAA"))
        for reader in [BrokerReader.consumer(id), .person(session: id)] {
            #expect(BrokerReader(username: reader.username) == reader)
        }
        #expect(BrokerReader(username: wrong) == nil)
    }
}
