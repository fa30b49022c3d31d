import AgentCore
import Sessions

// The stories. A live board's refresh is due 200 s after its last one, which came with the
// provisioning; `age` says how much of that has passed when the story begins.

extension Scenario {
    private static let tenYears = Duration.seconds(3653 * 86_400)

    static let provision = Scenario(
        name: "provision", beginning: .unclaimed, acts: pairing(fresh: false),
        length: .seconds(25), ending: .live(person: 0))

    static let refresh = Scenario(
        name: "refresh", beginning: .live(age: .seconds(130)),
        acts: [(.seconds(4), .write(machine: 0))], length: .seconds(40),
        ending: .live(person: 0))

    static let renewal = Scenario(
        name: "a heartbeat and two refreshes", beginning: .live(age: .seconds(90)), acts: [],
        length: .seconds(280), ending: .live(person: 0))

    static let refreshAfterOutage = Scenario(
        name: "refresh after an outage", beginning: .live(age: .seconds(140)),
        acts: [(.seconds(1), .powerCut(machine: 0))], length: .seconds(40),
        ending: .live(person: 0))

    static let revoke = Scenario(
        name: "revoke", beginning: .live(age: .seconds(20)),
        acts: [(.seconds(1), .revoke(machine: 0, person: 0))], length: .seconds(25),
        ending: .over([.revoked]))

    static let revokeOffline = Scenario(
        name: "revoke while the board is off", beginning: .live(age: .seconds(20)),
        acts: [
            (.seconds(1), .powerCut(machine: 0)),
            (.seconds(2), .revoke(machine: 0, person: 0)),
        ],
        length: .seconds(25), ending: .over([.revoked]))

    static let release = Scenario(
        name: "release", beginning: .live(age: .seconds(20)),
        acts: [(.seconds(1), .release(machine: 0, person: 0))], length: .seconds(25),
        ending: .over([.revoked]))

    static let signOut = Scenario(
        name: "sign-out on the board", beginning: .live(age: .seconds(20)),
        acts: [(.seconds(1), .signOut(machine: 0))], length: .seconds(25),
        ending: .over([.signedOut]))

    static let reclaim = Scenario(
        name: "revoke, pair and claim again", beginning: .live(age: .seconds(20)),
        acts: [(.seconds(1), .revoke(machine: 0, person: 0))]
            + pairing(fresh: false, after: .seconds(5), by: 1),
        length: .seconds(40), ending: .live(person: 1))

    static let repairing = Scenario(
        name: "a fresh claim secret, same user", beginning: .live(age: .seconds(20)),
        acts: pairing(fresh: true), length: .seconds(25), ending: .live(person: 0))

    static let handover = Scenario(
        name: "a fresh claim secret, another user", beginning: .live(age: .seconds(20)),
        acts: pairing(fresh: true, by: 1), length: .seconds(25), ending: .live(person: 1))

    static let theft = Scenario(
        name: "theft", beginning: .live(age: .seconds(135)),
        acts: [(.seconds(1), .steal(machine: 0))], length: .seconds(30), ending: .theft)

    /// The owner revokes while a refresh is on its way, so much after it was sent.
    static let revokeDuringRefresh = [5, 25, 45, 85].map { milliseconds in
        Scenario(
            name: "revoke \(milliseconds) ms into a refresh",
            beginning: .live(age: .seconds(140)),
            acts: [(.milliseconds(4_000 + milliseconds), .revoke(machine: 0, person: 0))],
            length: .seconds(30), ending: .over([.revoked]))
    }

    /// Another person claims the board while its owner revokes it, or right after.
    static let claimDuringRevocation = [-20, 10, 30, 90].map { milliseconds in
        Scenario(
            name: "claimed anew \(milliseconds) ms after a revocation",
            beginning: .live(age: .seconds(20)),
            acts: [
                (.milliseconds(500), .pair(machine: 0, fresh: true)),
                (.milliseconds(1000), .revoke(machine: 0, person: 0)),
                (.milliseconds(1000 + milliseconds), .claim(machine: 0, person: 1)),
            ],
            length: .seconds(30), ending: .live(person: 1))
    }

    /// The board is off, and hears of neither before it is on again.
    static let claimAfterUnheardRevocation = Scenario(
        name: "revoked and claimed anew while the board is off",
        beginning: .live(age: .seconds(20)),
        acts: [
            (.milliseconds(500), .pair(machine: 0, fresh: true)),
            (.milliseconds(600), .powerCut(machine: 0)),
            (.seconds(1), .revoke(machine: 0, person: 0)),
            (.seconds(2), .claim(machine: 0, person: 1)),
        ],
        length: .seconds(30), ending: .live(person: 1))

    /// Clocks that are wrong from the start.
    static let provisionByWrongClock = [
        ("1970", SimulatedBoard.Wall.startsAt(Timestamp(milliseconds: 0))),
        ("ten minutes behind", .skewed(.seconds(-600))),
        ("ten minutes ahead", .skewed(.seconds(600))),
    ].map { name, wall in
        var story = provision
        story.wall = wall
        return story.renamed("provision, the clock \(name)")
    }

    /// Clocks that go wrong while a refresh is due, with and without a restart.
    static let refreshByWrongClock = [
        ("at 1970", SimulatedBoard.Wall.startsAt(Timestamp(milliseconds: 0))),
        ("ten years ahead", .skewed(tenYears)),
        ("ten minutes behind", .skewed(.seconds(-600))),
        ("ten minutes ahead", .skewed(.seconds(600))),
    ].flatMap { name, wall in
        let jump: [(Duration, Act)] = [(.seconds(1), .setWall(machine: 0, wall))]
        let cut: [(Duration, Act)] = [(.seconds(2), .powerCut(machine: 0))]
        return [
            Scenario(
                name: "refresh, the clock \(name)", beginning: .live(age: .seconds(140)),
                acts: jump, length: .seconds(30), ending: .live(person: 0)),
            Scenario(
                name: "restart and refresh, the clock \(name)",
                beginning: .live(age: .seconds(140)), acts: jump + cut, length: .seconds(40),
                ending: .live(person: 0)),
        ]
    }

    private static func pairing(
        fresh: Bool, after start: Duration = .zero, by person: Int = 0
    ) -> [(at: Duration, act: Act)] {
        [
            (start + .seconds(1), .pair(machine: 0, fresh: fresh)),
            (start + .seconds(3), .claim(machine: 0, person: person)),
            (start + .seconds(9), .write(machine: 0)),
        ]
    }

    private func renamed(_ name: String) -> Self {
        Scenario(
            name: name, beginning: beginning, wall: wall, acts: acts, length: length,
            ending: ending)
    }
}
