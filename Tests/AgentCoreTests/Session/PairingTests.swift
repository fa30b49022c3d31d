import AgentCore
import AgentCryptography
import Sessions
import Testing
import Wire

@Suite("Pairing")
struct PairingTests {
    private func pair(
        _ bench: inout Bench, _ request: ControlRequest = .pair
    ) throws -> (url: ClaimURL?, effects: [AgentEffect]) {
        let effects = bench.agent.handle(.control(request, connection: 7), at: bench.instant)
        for changes in effects.commits { bench.store.commit(changes) }
        let answers = effects.compactMap { effect -> JSONValue? in
            if case .answer(7, let json) = effect { json } else { nil }
        }
        #expect(answers.count == 1)
        let text = answers.first?.asObject?["url"]?.asString
        return (try text.map { try ClaimURL($0) }, effects)
    }

    @Test("makes a claim secret that is durable before it is shown")
    func durable() throws {
        var bench = try Bench()
        bench.handle(.started)
        let (url, effects) = try pair(&bench)
        let claim = try #require(url)
        #expect(claim.installation == bench.identity.installation)
        #expect(claim.deviceKey == bench.identity.deviceKey)
        #expect(claim.name == "greenhouse")
        let kinds = effects.kinds
        #expect(try #require(kinds.firstIndex(of: "commit"))
            < #require(kinds.firstIndex(of: "answer")))
        #expect(try #require(bench.store.load().claim).secret.matches(claim.secret))
    }

    @Test("shows the same secret again, after a restart too, until it expires")
    func stable() throws {
        var bench = try Bench()
        bench.handle(.started)
        let first = try #require(try pair(&bench).url)
        try bench.restart()
        let second = try pair(&bench)
        #expect(second.effects.commits.isEmpty)
        #expect(first.secret.matches(try #require(second.url).secret))
        bench.pass(.seconds(86_400))
        #expect(!first.secret.matches(try #require(try pair(&bench).url).secret))
    }

    @Test("lets the board in under the password that both sides derive")
    func firstLogin() throws {
        var bench = try Bench()
        bench.handle(.started)
        let (url, effects) = try pair(&bench)
        let login = try #require(effects.logins.first)
        let key = try Cryptographer().derive(
            .broker, from: try #require(url).secret, board: bench.identity.installation)
        #expect(login.username == bench.identity.installation.description)
        #expect(login.clientID == "postern-\(bench.identity.installation)")
        #expect(login.password.reveal() == Array(Base64URL.encode(key.reveal()).utf8))
        #expect(login.uri == nil)
        let will = try #require(login.will)
        #expect(will.topic == "postern/v1/\(bench.identity.installation)/status")
        #expect(try !BoardStatus(parsing: will.payload).up)
    }

    /// How long the agent pauses at the longest in the next minute, while the broker refuses it.
    private func longestPause(_ bench: inout Bench) -> Duration {
        var longest = Duration.zero
        let end = bench.monotonic + .seconds(60)
        while bench.monotonic < end {
            bench.handle(.uplink(.refused("broker login: Not authorized")))
            let begun = bench.monotonic
            while bench.monotonic - begun < .seconds(20), bench.handle(.deadline).logins.isEmpty {
                bench.pass(.milliseconds(100))
            }
            longest = max(longest, bench.monotonic - begun)
        }
        return longest
    }

    @Test("has the board try the broker every 3 s for ten minutes, then every 10 s")
    func patience() throws {
        var bench = try Bench()
        bench.handle(.started)
        _ = try pair(&bench)
        #expect(longestPause(&bench) <= .milliseconds(3100))
        bench.pass(.seconds(600))
        #expect((Duration.seconds(5)...(.milliseconds(10_100))).contains(longestPause(&bench)))
        // A person who asks for the code again waits for the board again.
        _ = try pair(&bench)
        #expect(longestPause(&bench) <= .milliseconds(3100))
    }

    @Test("warns of no refused login before the claim, and of no new login after it")
    func expected() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        func warnings(_ effects: [AgentEffect]) -> [String] {
            effects.compactMap { if case .log(.warning, let text) = $0 { text } else { nil } }
        }
        #expect(warnings(bench.handle(.uplink(.refused("not authorized")))).isEmpty)
        bench.run(for: .seconds(4))
        bench.connect()
        bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision("ann", at: bench.wall)), claim: claim,
            at: bench.wall)))
        #expect(warnings(bench.handle(.uplink(.lost("administrative action")))).isEmpty)
        bench.run(for: .seconds(4))
        bench.connect()
        bench.pass(.seconds(120))
        #expect(warnings(bench.handle(.uplink(.lost("gone")))) == ["upstream: gone"])
    }

    @Test("of a claimed board needs to be asked for afresh, and changes nothing by itself")
    func claimed() throws {
        var bench = try Bench()
        try bench.provision()
        let refused = try pair(&bench)
        #expect(refused.url == nil)
        #expect(refused.effects.commits.isEmpty)
        let (url, effects) = try pair(&bench, .pairNew)
        #expect(url != nil)
        #expect(effects.commits.joined().map(\.name) == ["claim"])
        #expect(effects.states.isEmpty)
        #expect(try bench.store.load().session != nil)
        // An old secret that has expired is no way around asking.
        bench.pass(.seconds(86_400))
        #expect(try pair(&bench).url == nil)
    }

    @Test("on a board whose clock is not set begins to count when it is")
    func clockless() throws {
        var bench = try Bench()
        bench.wall = Timestamp(milliseconds: 60_000)
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        bench.wall = Bench.start
        bench.pass(.seconds(60))
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)))
        #expect(effects.states == ["available"])
    }

    @Test("below the floor of an earlier authority begins to count when the clock is set, too")
    func belowFloor() throws {
        var bench = try Bench()
        bench.store.commit([.memory(BoardMemory(floor: Bench.start))])
        bench.wall = Bench.start - .seconds(200_000)
        try bench.restart()
        bench.handle(.started)
        _ = try bench.pair()
        try bench.restart()
        bench.wall = Bench.start
        bench.handle(.deadline)
        #expect(try bench.store.load().claim?.expiresAt == Bench.start + .seconds(86_400))
        bench.pass(.seconds(60))
        bench.handle(.deadline)
        #expect(try bench.store.load().claim?.expiresAt == Bench.start + .seconds(86_400))
    }

    @Test("and expires a lifetime after the clock was set")
    func clocklessEnd() throws {
        var bench = try Bench()
        bench.wall = Timestamp(milliseconds: 60_000)
        bench.handle(.started)
        let claim = try bench.pair()
        bench.wall = Bench.start
        bench.handle(.deadline)
        #expect(try bench.store.load().claim?.expiresAt == Bench.start + .seconds(86_400))
        try bench.restart()
        bench.handle(.started)
        #expect(try bench.store.load().claim?.expiresAt == Bench.start + .seconds(86_400))
        #expect(try #require(bench.store.load().claim).secret.matches(claim))
    }

    @Test("status and session show no secret, whatever the state")
    func reports() throws {
        var bench = try Bench()
        for round in 0..<2 {
            for request in [ControlRequest.status, .session] {
                let answer = bench.handle(.control(request, connection: 1)).compactMap {
                    if case .answer(_, let json) = $0 { json.asObject } else { nil }
                }
                #expect(answer.first?["state"] != nil)
            }
            if round == 0 { try bench.provision() }
        }
        let status = try #require(bench.agent.status(at: bench.instant).asObject)
        #expect(status["state"] == .string("available"))
        #expect(status["clock"] == .string("set"))
        #expect(status["authority"] == .string("Home"))
    }
}
