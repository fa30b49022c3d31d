import Testing

@Suite("A fault at every step")
struct EnumeratedFaultTests {
    @Test("of a session's life leaves an end that is allowed", arguments: [
        Scenario.provision, .refresh, .renewal, .refreshAfterOutage, .revoke, .revokeOffline,
        .release, .reclaim, .repairing, .handover,
    ])
    func sealed(scenario: Scenario) async throws {
        try await single(scenario, .real)
    }

    /// What differs here is when things happen, not what is said: that needs no OpenSSL.
    @Test("of two things at once leaves an end that is allowed", arguments: [
        Scenario.theft, .claimAfterUnheardRevocation,
    ] + Scenario.revokeDuringRefresh + Scenario.claimDuringRevocation)
    func collisions(scenario: Scenario) async throws {
        try await single(scenario, .symbolic)
    }

    @Test("by a clock that is wrong leaves an end that is allowed",
          arguments: Scenario.provisionByWrongClock + Scenario.refreshByWrongClock)
    func clocks(scenario: Scenario) async throws {
        try await single(scenario, .symbolic)
    }

    private func single(_ scenario: Scenario, _ sealing: Sealing) async throws {
        let start = ContinuousClock.now
        let snapshot = try await scenario.snapshot(sealing)
        let mishaps = try await scenario.everyFault(from: snapshot)
        let sum = try await scenario.tellAll(mishaps, from: snapshot)
        print("\(scenario.name), one fault: \(sum.text), \(ContinuousClock.now - start)")
    }

    @Test("and power cut or message lost at every step after it leaves a refresh whole")
    func pairs() async throws {
        let start = ContinuousClock.now
        let scenario = Scenario.refresh
        let snapshot = try await scenario.snapshot(.symbolic)
        var mishaps: [Mishap] = []
        for first in try await scenario.everyFault(from: snapshot) {
            mishaps += try await scenario.everyFault(
                after: first, from: snapshot, only: [.cutBefore, .cutAfter, .lose])
        }
        let sum = try await scenario.tellAll(mishaps, from: snapshot)
        print("\(scenario.name), two faults: \(sum.text), \(ContinuousClock.now - start)")
    }

    @Test("of a sign-out on the board leaves no session on either side")
    func signOut() async throws {
        let scenario = Scenario.signOut
        let snapshot = try await scenario.snapshot(.real)
        let sum = try await scenario.tellAll(
            try await scenario.everyFault(from: snapshot), from: snapshot)
        print("\(scenario.name), one fault: \(sum.text)")
    }
}

@Suite("A story without a fault")
struct FaultlessStoryTests {
    @Test("of a theft ends with both machines told and the login gone")
    func theft() async throws {
        let scenario = Scenario.theft
        let snapshot = try await scenario.snapshot(.real)
        let left = try await Lot.$current.withValue(Lot(seed: 3, books: snapshot.books)) {
            let world = try World(snapshot, Fates(.none))
            for (at, act) in scenario.acts { world.push(.act(act), after: at) }
            await world.run(for: .seconds(1800)) { $0.unsettledAfterTheft() == nil }
            return (world.unsettled(for: .theft), world.unsettledAfterTheft())
        }
        #expect(left.0 == nil && left.1 == nil, "\(left)")
    }

    @Test("is told alike each time under one seed")
    func determinism() async throws {
        let scenario = Scenario.reclaim
        let snapshot = try await scenario.snapshot(.symbolic)
        let plan = Plan.random(SplitMix64(seed: 5), probability: 0.1, left: 9)
        let first = try await scenario.tell(from: snapshot, plan, isTracing: true)
        let second = try await scenario.tell(from: snapshot, plan, isTracing: true)
        #expect(first.trace == second.trace)
        #expect(first.struck.count == 9)
    }
}
