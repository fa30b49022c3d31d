import AgentCore
import AgentCryptography
import Sessions
import Testing
import Wire

extension JoiningTests {
    private func provision(_ bench: inout Bench, under claim: SecretBytes) throws -> [String] {
        bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision("ann", at: bench.wall)), claim: claim,
            at: bench.wall))).states
    }

    @Test("accepted during an outage that outlasts its claim still provisions the board")
    func outage() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let claim = try #require(bench.store.load().claim).secret
        bench.run(for: .seconds(4))
        bench.handle(.uplink(.refused("broker login: not authorised")))
        for _ in 0..<3 {
            bench.pass(.seconds(10 * 3600))
            _ = try next(&bench)
            bench.handle(.uplink(.lost("TCP: no")))
        }
        #expect(try #require(bench.store.load().claim).secret.matches(claim))
        while Self.isJoin(try next(&bench)) { bench.handle(.uplink(.lost("TCP: no"))) }
        bench.connect()
        #expect(try provision(&bench, under: claim).contains("available"))
    }

    @Test("accepted with the secret that has just been replaced still provisions the board")
    func race() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        asked(&bench)
        let old = try #require(bench.store.load().claim).secret
        _ = try next(&bench)
        bench.pass(.seconds(86_400))
        bench.handle(.uplink(.refused("broker login: not authorised")))
        try nextJoin(&bench)
        asked(&bench)
        try bench.restart()
        bench.handle(.started)
        let key = try Cryptographer().derive(
            .broker, from: old, board: bench.identity.installation)
        let password = Array(Base64URL.encode(key.reveal()).utf8)
        bench.handle(.uplink(.refused("broker login: not authorised")))
        while true {
            let login = try next(&bench)
            if !Self.isJoin(login), login.password.reveal() == password { break }
            bench.handle(.uplink(.refused("broker login: not authorised")))
        }
        bench.connect()
        #expect(try provision(&bench, under: old).contains("available"))
        #expect(try bench.store.load().claim == nil)
    }

    @Test("that is refused for an hour is tried less often, until a person asks for the code")
    func dead() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        func pause() throws -> Duration {
            bench.handle(.uplink(.refused("broker login: not authorised")))
            let start = bench.monotonic
            while bench.run(for: .milliseconds(100)).logins.isEmpty {
                try #require(bench.monotonic - start < .seconds(600))
            }
            return bench.monotonic - start
        }
        let end = bench.monotonic + .seconds(3600)
        while bench.monotonic < end { #expect(try pause() <= .milliseconds(10_100)) }
        _ = try pause()
        #expect(try (0..<20).map { _ in try pause() }.reduce(.zero, +) > .seconds(240))
        #expect(joining(bench)?["state"] == .string("refused"))
        _ = try bench.pair(fresh: false)
        _ = try pause()
        #expect(try pause() <= .milliseconds(3100))
    }

    @Test("that nobody hears has not been sent, and is repeated soon")
    func unheard() throws {
        var (bench, _) = try Self.board()
        bench.handle(.started)
        #expect(joining(bench)?["state"] == .string("notSent"))
        bench.handle(.uplink(.connected))
        let effects = bench.handle(.uplink(.unheard))
        #expect(warnings(effects).contains { $0.contains("no authority listens") })
        #expect(joining(bench)?["state"] == .string("notSent"))
        #expect(try nextJoin(&bench) <= 3)
        asked(&bench)
        #expect(joining(bench)?["state"] == .string("asked"))
    }

    @Test("uses no login of an earlier authority while it asks")
    func earlier() throws {
        var bench = try Bench()
        try bench.provision()
        let join = try Self.board().join
        bench.store.commit([.session(nil), .join(join)])
        try bench.restart()
        let trust = try #require(try bench.store.load().trust)
        let old = [trust.broker?.password, trust.firstPassword].compactMap(\.self)
        #expect(!old.isEmpty)
        var effects = bench.handle(.started)
        for _ in 0..<12 {
            for login in effects.logins {
                #expect(!old.contains { $0.matches(login.password) })
            }
            bench.handle(.uplink(.refused("broker login: not authorised")))
            effects = bench.run(for: .seconds(4))
        }
    }
}
