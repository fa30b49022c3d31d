import AgentCore
import AgentCryptography
import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// A story that is told again and again, each time with other faults.
struct Scenario: Sendable, CustomTestStringConvertible {
    enum Beginning: Sendable {
        /// A board fresh from the shop, started, and not paired.
        case unclaimed
        /// Provisioned and in use for `age`; a refresh is due 200 s after each.
        case live(age: Duration)
    }

    let name: String
    var beginning: Beginning
    var wall = SimulatedBoard.Wall.skewed(.zero)
    /// When somebody does what, from the beginning of the story.
    var acts: [(at: Duration, act: Act)]
    /// How long faults may befall it.
    let length: Duration
    let ending: Ending

    var testDescription: String { name }

    /// The world as it is when the story begins, reached without a fault.
    func snapshot(_ sealing: Sealing) async throws -> World.Snapshot {
        let lot = Lot(seed: 1)
        return try await Lot.$current.withValue(lot) {
            let fates = Fates(.none)
            let world = try World(try Self.empty(sealing, wall), fates)
            world.boot(0)
            try await world.addPeople()
            world.push(.housekeeping, after: .seconds(7))
            if case .live(let age) = beginning {
                world.push(.act(.pair(machine: 0, fresh: false)), after: .seconds(1))
                world.push(.act(.claim(machine: 0, person: 0)), after: .seconds(2))
                await world.run(for: .seconds(60))
                world.push(.act(.write(machine: 0)))
                await world.run(for: max(age, .seconds(1)))
                guard world.store.tables.active(on: world.state.boards[0].installation) != nil
                else { throw Unprepared() }
            }
            guard !fates.hasFailed else { throw Unprepared() }
            return world.snapshot
        }
    }

    struct Unprepared: Error {}

    private static func empty(
        _ sealing: Sealing, _ wall: SimulatedBoard.Wall
    ) throws -> World.Snapshot {
        let (secret, key) = try Cryptographer().makeDeviceKey()
        let identity = BoardIdentity(
            installation: InstallationID(random: Lot.current.bytes(16)), deviceSecret: secret,
            deviceKey: key)
        var state = World.State()
        state.boards = [SimulatedBoard(disk: BoardDisk(identity), wall: wall)]
        var tables = Tables()
        tables.keys = try KeyRing.make(at: SimulatedBoard.start)
        return World.Snapshot(
            sealing: sealing, state: state, tables: tables, books: Lot.Books())
    }
}

extension World {
    /// Two people who may claim boards, logged in; the second also those of others.
    fileprivate func addPeople() async throws {
        for (name, isAdministrator) in [("ada", false), ("ben", true)] {
            let password = SecretBytes(Array("correct horse battery".utf8))
            _ = try await authority.addUser(
                NewUser(
                    username: name, password: password, isAdministrator: isAdministrator,
                    mayClaim: true),
                actor: "test")
            let login = try await authority.login(
                LoginAttempt(username: name, password: password, origin: "test"))
            state.people.append(Caller(user: login.user, session: login.session))
        }
    }
}

/// What one telling came to.
struct Outcome: Sendable {
    var violations: [String]
    let steps: [Step]
    let stepCount: Int
    let struck: [String]
    let trace: [String]
    let busiestMinute: Int
    /// How long after the faults all was well.
    let mending: Duration
    let refusals: [Refusal]
}

extension Scenario {
    /// Tells the story once under `plan`, mends the network, and waits for the end.
    func tell(
        from snapshot: World.Snapshot, _ plan: Plan, seed: UInt64 = 2, records: Bool = false,
        isTracing: Bool = false
    ) async throws -> Outcome {
        let fates = Fates(plan, records: records, isTracing: isTracing)
        return try await Lot.$current.withValue(Lot(seed: seed, books: snapshot.books)) {
            let world = try World(snapshot, fates)
            for (at, act) in acts { world.push(.act(act), after: at) }
            await world.run(for: length)
            world.heal()
            let healedAt = world.state.now
            await world.run(for: .seconds(45 * 60)) { $0.unsettled(for: ending) == nil }
            if !fates.hasFailed, let left = world.unsettled(for: ending) {
                fates.violate("in the end: \(left)")
            }
            world.searchBroker()
            world.searchStorms()
            return Outcome(
                violations: fates.violations, steps: fates.steps, stepCount: fates.stepCount,
                struck: fates.struck, trace: fates.trace, busiestMinute: world.busiestMinute,
                mending: world.state.now - healedAt, refusals: world.state.refusals)
        }
    }
}
