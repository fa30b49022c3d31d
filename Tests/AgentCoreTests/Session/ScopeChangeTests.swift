import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Scope change")
struct ScopeChangeTests {
    private func scope(_ text: String) throws -> ScopeDocument {
        ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
    }

    private static let deny = #"{"default":"deny"}"#
    private static let readings =
        #"{"default":"deny","rules":[{"class":"Reading","allow":["create"]}]}"#

    /// Provisioned, with the first heartbeat answered.
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    private func update(
        _ bench: inout Bench, _ text: String?, sequence: Int64, id: MessageID = .fresh()
    ) throws -> [AgentEffect] {
        let session = try #require(try bench.store.load().session).session
        return bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: sequence, session: session, scope: try text.map(scope)), id: id)))
    }

    /// The ids of the updates that were confirmed.
    private func confirmed(_ bench: Bench, _ effects: [AgentEffect]) throws -> [MessageID] {
        try bench.sent(effects).compactMap { message in
            guard case .sessionConfirmed(let re, let session) = message.body else { return nil }
            #expect(session.description == "Session001")
            return re
        }
    }

    @Test("is confirmed once it is durable, and again whenever it is repeated")
    func confirmation() throws {
        var bench = try settled()
        let id = MessageID.fresh()
        let effects = try update(&bench, Self.deny, sequence: 101, id: id)
        #expect(try confirmed(bench, effects) == [id])
        let kinds = effects.kinds
        let (commit, send) = (kinds.firstIndex(of: "commit"), kinds.firstIndex(of: "send"))
        #expect(try #require(commit) < (try #require(send)))
        let again = try update(&bench, Self.deny, sequence: 101, id: id)
        #expect(try confirmed(bench, again) == [id])
        #expect(again.commits.isEmpty)
        let newer = try update(&bench, Self.deny, sequence: 102, id: id)
        #expect(try confirmed(bench, newer) == [id])
        // An older one is neither taken nor confirmed.
        let older = try update(&bench, "{}", sequence: 99)
        #expect(try confirmed(bench, older).isEmpty)
        try bench.restart()
        bench.handle(.started)
        bench.connect()
        let late = try update(&bench, "{}", sequence: 102, id: id)
        #expect(try confirmed(bench, late) == [id])
        #expect(try bench.store.load().session?.scope == scope(Self.deny))
    }

    @Test("that cannot be read is not confirmed")
    func unreadable() throws {
        var bench = try settled()
        let effects = try update(&bench, #"{"default":"perhaps"}"#, sequence: 101)
        #expect(try confirmed(bench, effects).isEmpty)
    }

    @Test("judges what was accepted before it, by name, also after a restart")
    func judgedAgain() throws {
        var bench = try settled()
        bench.handle(.bus([
            .write("thermo", "create/Reading", "1"), .write("thermo", "create/Alarm", "2"),
        ]))
        let effects = try update(&bench, Self.readings, sequence: 101)
        let grants = try #require(effects.grants.last)
        let refusals = bench.store.writes.map { grants.refusal(of: $0) }
        #expect(refusals[0] == nil)
        #expect(refusals[1]?.hasPrefix("scope:default: ") == true)
        bench.handle(.bus([.write("thermo", "create/Reading", "3")]))
        #expect(bench.store.writes.count == 3)
        try bench.restart()
        bench.handle(.started)
        let after = try #require(bench.connect().grants.last)
        #expect(bench.store.writes.map { after.refusal(of: $0) } == refusals + [nil])
    }

    @Test("by a heartbeat's reply does the same; the same scope again moves nothing")
    func heartbeat() throws {
        var bench = try settled()
        bench.handle(.bus([.write("thermo", "create/Alarm", "1")]))
        let narrow = try scope(Self.readings)
        let beat = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        let effects = try bench.answer(beat) { $0.scope = narrow }
        let alarm = try #require(bench.store.writes.first)
        #expect(effects.grants.last?.refusal(of: alarm) != nil)
        #expect(try bench.store.load().session?.lastBeforeScope == 1)
        bench.handle(.bus([.write("thermo", "create/Reading", "2")]))
        let next = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        try bench.answer(next) { $0.scope = narrow }
        #expect(try bench.store.load().session?.lastBeforeScope == 1)
    }

    @Test("is not undone by a reply that was sealed before it, nor is a changed end")
    func lateReply() throws {
        var bench = try settled()
        let beat = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        let before = try #require(try bench.store.load().session?.session)
        var shorter = before
        shorter.expiresAt = bench.wall + .seconds(3600)
        let (narrow, wide) = (try scope(Self.deny), try scope("{}"))
        let sent = try bench.sent(bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: shorter, scope: narrow)))))
        #expect(sent.map(\.body.name) == ["confirmed", "authenticate"])
        let next = try #require(sent.last)
        #expect(next.id != beat.id)
        let late = try bench.answer(beat) {
            $0.session = before
            $0.scope = wide
        }
        #expect(late.commits.isEmpty)
        let held = try #require(try bench.store.load().session)
        #expect(held.scope == narrow)
        #expect(held.session.expiresAt?.seconds == shorter.expiresAt?.seconds)
        #expect(try !bench.answer(next).commits.isEmpty)
    }

    @Test("by a provisioning judges all that waits, unless the scope is the one in force")
    func provisioning() throws {
        var bench = try settled()
        bench.handle(.bus([.write("thermo", "create/Alarm", "1")]))
        func provision(_ text: String?, _ sequence: Int64) throws -> Int64? {
            var provision = try bench.authority.provision(
                session: "Session\(sequence)", sequence: sequence, at: bench.wall)
            provision.scope = try text.map(scope)
            bench.handle(.inbox(try bench.authority.seal(.provision(provision), at: bench.wall)))
            let held = try #require(try bench.store.load().session)
            #expect(held.session.objectID.description == "Session\(sequence)")
            return held.lastBeforeScope
        }
        #expect(try provision(nil, 102) == 0)
        #expect(try provision(Self.deny, 103) == 1)
        bench.handle(.bus([.write("thermo", "create/Alarm", "2")]))
        #expect(try provision(Self.deny, 104) == 1)
    }
}

@Suite("Publish grants")
struct PublishGrantsTests {
    private func write(
        _ sequence: Int64, _ operation: Operation = .create, of className: String = "Reading",
        _ payload: String = #"{"celsius":1}"#, topic: String = "postern/v1/x/data/Reading/create"
    ) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try #require(ObjectID("Session001")),
            user: try #require(UserID("ann0000000")), acceptedAt: Bench.start,
            app: try #require(AppName("thermo")), className: try #require(ClassName(className)),
            operation: operation, topic: topic, payload: Array(payload.utf8))
    }

    private func grants(_ text: String?, lastBefore: Int64 = 0) throws -> PublishGrants {
        let scope = try text.map { text in
            try Scope(ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8))))
        }
        return PublishGrants(own: "postern/v1/x/data/", scope: scope, lastBefore: lastBefore)
    }

    @Test("know where the scope in force lets this board publish", arguments: [
        ("postern/v1/x/data/Reading/create", true), ("plant/1/power", true),
        ("plant/1/2/power", false), ("postern/v1/x/status", false),
        ("postern/v1/y/data/Reading/create", false),
    ])
    func topics(topic: String, isGranted: Bool) throws {
        let grants = try grants(#"{"topics":["plant/+/power"]}"#)
        let refusal = grants.refusal(of: try write(1, topic: topic))
        #expect(refusal == (isGranted ? nil : "its topic is not granted any more"))
    }

    @Test("judge what was accepted under an earlier scope, and name the rule")
    func earlier() throws {
        let grants = try grants(#"""
            {"default":"deny","rules":[
                {"app":"other","class":"*","allow":["create"]},
                {"class":"Reading","allow":["create"],"fields":{"celsius":"number"},"max_bytes":20}
            ]}
            """#, lastBefore: 7)
        #expect(grants.refusal(of: try write(7)) == nil)
        #expect(grants.refusal(of: try write(7, .update)) == "scope:2: update is not allowed on "
            + "this class; allowed: create")
        #expect(grants.refusal(of: try write(7, .create, of: "Alarm"))?
            .hasPrefix("scope:default: ") == true)
        #expect(grants.refusal(of: try write(7, .create, of: "Reading", #"{"celsius":"x"}"#))
            == "scope:2 (celsius): the rule expects number here")
        let long = #"{"celsius":1.00000000000000000}"#
        #expect(grants.refusal(of: try write(7, .create, of: "Reading", long))?
            .hasPrefix("scope:2: the payload has ") == true)
        #expect(grants.refusal(of: try write(8, .update)) == nil)
    }

    @Test("judge nothing again without a scope")
    func everything() throws {
        #expect(try grants(nil, lastBefore: 7).refusal(of: try write(1, .delete)) == nil)
    }
}
