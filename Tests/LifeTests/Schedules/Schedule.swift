import Sessions

/// A story made up by dice: who does what, when, and how much goes wrong.
struct Schedule: Sendable {
    let seed: UInt64
    let scenario: Scenario
    let plan: Plan

    private static let tenYears = Duration.seconds(3653 * 86_400)

    init(seed: UInt64) {
        self.seed = seed
        var dice = SplitMix64(seed: seed)
        let isTheft = dice.isHit(0.04)
        let beginning = isTheft
            ? Scenario.Beginning.live(age: .seconds(120))
            : dice.pick(Self.beginnings)
        let length = Duration.seconds(30 + dice.below(240))
        var acts: [(at: Duration, act: Act)] = []
        if isTheft {
            acts = [(Self.time(&dice, .seconds(20)), .steal(machine: 0))]
        } else {
            acts = Self.acts(&dice, beginning, within: length)
        }
        scenario = Scenario(
            name: "schedule \(seed)", beginning: beginning, acts: acts, length: length,
            ending: isTheft ? .theft : .agreed)
        plan = .random(
            SplitMix64(seed: dice.next()), probability: [0, 0.02, 0.05, 0.1, 0.25][dice.below(5)],
            left: 1 + dice.below(12))
    }

    /// Each is reached once, and all schedules go on from there.
    static let beginnings: [Scenario.Beginning] = [
        .unclaimed, .live(age: .seconds(20)), .live(age: .seconds(120)),
        .live(age: .seconds(138)),
    ]

    private static func time(_ dice: inout SplitMix64, _ limit: Duration) -> Duration {
        .milliseconds(dice.below(Int(limit.milliseconds)))
    }

    private static func acts(
        _ dice: inout SplitMix64, _ beginning: Scenario.Beginning, within length: Duration
    ) -> [(at: Duration, act: Act)] {
        var acts: [(at: Duration, act: Act)] = []
        if case .unclaimed = beginning {
            acts.append((.seconds(1), .pair(machine: 0, fresh: false)))
            acts.append((.seconds(2), .claim(machine: 0, person: 0)))
        }
        for _ in 0..<dice.below(5) {
            let at = time(&dice, length)
            switch dice.below(14) {
            case 0...2: acts.append((at, .write(machine: 0)))
            case 3...4: acts.append((at, .powerCut(machine: 0)))
            case 5: acts.append((at, .revoke(machine: 0, person: 0)))
            case 6: acts.append((at, .release(machine: 0, person: 0)))
            case 7: acts.append((at, .signOut(machine: 0)))
            case 8: acts.append((at, .brokerRestart(keepsDisk: dice.isHit(0.5))))
            case 9: acts.append((at, .setWall(machine: 0, wall(&dice))))
            case 10...11:
                acts.append((
                    at, .changeScope(machine: 0, person: 0, isNarrow: dice.isHit(0.5))))
            default:
                acts.append((at, .pair(machine: 0, fresh: dice.isHit(0.7))))
                acts.append((
                    at + .seconds(1 + dice.below(5)),
                    .claim(machine: 0, person: dice.below(2))))
            }
        }
        return acts
    }

    private static func wall(_ dice: inout SplitMix64) -> SimulatedBoard.Wall {
        dice.pick([
            .startsAt(Timestamp(milliseconds: 0)), .skewed(tenYears), .skewed(.seconds(-600)),
            .skewed(.seconds(600)), .skewed(.zero),
        ])
    }
}
