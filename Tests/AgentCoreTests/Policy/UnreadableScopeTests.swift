import AgentCore
import Sessions
import Testing
import Wire

@Suite("Unreadable scope")
struct UnreadableScopeTests {
    private let broken = ScopeDocument(unchecked: .object(["default": .string("perhaps")]))

    @Test("on disk allows nothing")
    func stored() throws {
        var bench = try Bench()
        try bench.provision()
        var held = try #require(try bench.store.load().session)
        held.scope = broken
        bench.store.commit([.session(held)])
        try bench.restart()
        bench.handle(.started)
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try refused.codes(of: "thermo") == [119])
        #expect(bench.store.writes.isEmpty)
    }

    @Test("in an update changes nothing and uses up no number")
    func update() throws {
        var bench = try Bench()
        try bench.provision()
        let session = try #require(try bench.store.load().session).session
        let before = bench.store.text
        let dropped = bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: session, scope: broken))))
        #expect(dropped.commits.isEmpty)
        #expect(bench.store.text == before)
        let deny = ScopeDocument(unchecked: .object(["default": .string("deny")]))
        let old = bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 100, session: session, scope: deny))))
        #expect(old.commits.isEmpty)
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
        let mended = bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: session, scope: deny))))
        #expect(mended.commits.count == 1)
    }
}
