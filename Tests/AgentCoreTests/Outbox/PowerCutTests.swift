import AgentCore
import Sessions
import Testing
import Wire

/// A whole life of a session as a script, whose power is cut after the n-th effect.
///
/// The authority here is honest: it answers what it is asked, a request's id again with the
/// same answer, and repeats what it has sent retained.
private struct Life {
    var bench: Bench
    let claim: SecretBytes
    let provision: [UInt8]
    let revocation: [UInt8]
    /// Effects until the power is cut; nil: never.
    var left: Int?
    var done = 0
    var isCut = false
    /// What was granted, by the request's id: asked again, it is answered alike.
    var granted: [MessageID: Int] = [:]
    var generation = 1
    var theft = false
    var isEnded = false
    var isRevoked = false

    init(cutAfter left: Int?) throws {
        bench = try Bench()
        bench.handle(.started)
        bench.handle(.busConnected(resumed: false))
        claim = try bench.pair()
        provision = try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)
        revocation = try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))
        self.left = left
    }

    /// Hands over an event and does its effects one by one; after the cut, nothing.
    mutating func handle(_ event: AgentEvent) throws {
        guard !isCut else { return }
        for effect in bench.agent.handle(event, at: bench.instant) {
            if let left, done >= left {
                isCut = true
                return
            }
            done += 1
            bench.perform(effect)
            if case .abandonUplink = effect { isAbandoned = true }
            if case .send(let topic, let payload) = effect {
                try answer(try bench.authority.open(payload, topic: topic))
            }
        }
    }

    /// Answers are taken when the effects before them are done.
    private var inbox: [[UInt8]] = []
    /// The agent has ended its connection, and makes another at once.
    private var isAbandoned = false

    private mutating func answer(_ message: BoardMessage) throws {
        switch message.body {
        case .authenticate:
            inbox.append(try reply(message, isRevoked ? nil : Reply.Result(), whole: true))
        case .refresh(let token):
            try refresh(message, token)
        case .sessionEnded:
            isEnded = true
        default:
            break
        }
    }

    private mutating func refresh(_ message: BoardMessage, _ token: RefreshToken) throws {
        let asked = token.reveal()
        if granted[message.id] == nil {
            theft = theft || asked != "rt:secret-Session001-\(generation)"
            generation += 1
            granted[message.id] = generation
        }
        let session = try bench.authority.provision().session
        let tokens = try bench.authority.tokens(
            for: session, generation: try #require(granted[message.id]), at: bench.wall)
        var result = Reply.Result()
        result.session = session
        result.accessToken = tokens.access
        result.refreshToken = tokens.refresh
        inbox.append(try reply(message, isRevoked ? nil : result))
    }

    private func reply(
        _ message: BoardMessage, _ result: Reply.Result?, whole: Bool = false
    ) throws -> [UInt8] {
        var outcome = Reply.Outcome.error(Refusal(.invalidSession, "over"))
        if var result {
            if whole {
                let provision = try bench.authority.provision()
                result.session = provision.session
                result.user = provision.user
            }
            outcome = .result(result)
        }
        return try bench.authority.seal(.reply(Reply(
            re: message.id, now: bench.wall, outcome: outcome)), at: bench.wall)
    }

    mutating func deliver() throws {
        repeat {
            while !inbox.isEmpty, !isCut { try handle(.inbox(inbox.removeFirst())) }
            guard isAbandoned else { return }
            isAbandoned = false
            try handle(.uplink(.connected))
            try handle(.uplink(.ready))
        } while !isCut
    }

    mutating func wait(_ span: Duration) throws {
        let end = bench.monotonic + span
        while !isCut, let next = bench.agent.nextDeadline(at: bench.instant), next <= end {
            bench.pass(max(next - bench.monotonic, .zero))
            try handle(.deadline)
            try deliver()
        }
        bench.pass(max(end - bench.monotonic, .zero))
    }

    /// Provision, accept, heartbeat, refresh, write; revoke.
    mutating func script(revokes: Bool) throws {
        try handle(.uplink(.connected))
        try handle(.uplink(.ready))
        try handle(.inbox(provision))
        try deliver()
        try handle(.bus([.write("thermo", "create/Reading", "1", packet: 1)]))
        try wait(.seconds(3000))
        try handle(.bus([.write("thermo", "create/Reading", "2", packet: 2)]))
        guard revokes else { return }
        isRevoked = true
        try handle(.inbox(revocation))
        try deliver()
    }

    /// Power comes back: the agent starts on what is durable, the brokers repeat what they hold.
    mutating func recover() throws {
        inbox.removeAll()
        isAbandoned = false
        isCut = false
        left = nil
        try bench.restart()
        try handle(.started)
        try handle(.busConnected(resumed: true))
        try handle(.uplink(.connected))
        try handle(.uplink(.ready))
        try handle(.inbox(provision))
        if isRevoked, !isEnded { try handle(.inbox(revocation)) }
        try deliver()
        try wait(.seconds(3000))
    }
}

@Suite("Power cut")
struct PowerCutTests {
    /// How many effects the uncut script has.
    private func effects(revokes: Bool) throws -> Int {
        var life = try Life(cutAfter: nil)
        try life.script(revokes: revokes)
        #expect(life.generation >= 2)
        #expect(!life.theft)
        #expect(life.isEnded == revokes)
        return life.done
    }

    @Test("after any single effect leaves a session that works")
    func usable() throws {
        for cut in 0...(try effects(revokes: false)) {
            var life = try Life(cutAfter: cut)
            try life.script(revokes: false)
            try life.recover()
            let held = try life.bench.store.load().session
            #expect(held != nil, "cut after \(cut)")
            #expect(!life.theft, "cut after \(cut)")
            #expect(held?.tokens.refresh.reveal() == "rt:secret-Session001-\(life.generation)",
                    "cut after \(cut)")
            #expect(life.bench.agent.sessionState(at: life.bench.instant) == .available,
                    "cut after \(cut)")
            let before = life.bench.store.writes.count
            try life.handle(.bus([.write("thermo", "create/Reading", "3", packet: 9)]))
            #expect(life.bench.store.writes.count == before + 1, "cut after \(cut)")
        }
    }

    @Test("after any single effect of a revoked session's life leaves a clean end")
    func revoked() throws {
        for cut in 0...(try effects(revokes: true)) {
            var life = try Life(cutAfter: cut)
            try life.script(revokes: true)
            try life.recover()
            #expect(life.bench.agent.sessionState(at: life.bench.instant)
                == .unavailable(.revoked), "cut after \(cut)")
            #expect(life.isEnded, "cut after \(cut)")
            #expect(!life.theft, "cut after \(cut)")
            #expect(!life.bench.store.text.contains("secret-Session001"), "cut after \(cut)")
        }
    }

    @Test("never separates a revocation from the seq that would make it look old")
    func revocationIsWhole() throws {
        var bench = try Bench()
        try bench.provision()
        let payload = try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))
        for cut in 0..<4 {
            var copy = bench
            let effects = copy.agent.handle(.inbox(payload), at: copy.instant)
            for effect in effects.prefix(cut) { copy.perform(effect) }
            try copy.restart()
            copy.handle(.started)
            copy.connect()
            copy.handle(.inbox(payload))
            #expect(copy.agent.sessionState(at: copy.instant) == .unavailable(.revoked))
        }
    }
}
