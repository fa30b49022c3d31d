import AgentCore
import AuthorityCore
import Gate
import Sessions
import Wire

@testable import AuthorityService

/// One board or two, their authority, the broker between them and the people around, in
/// virtual time: nothing happens but what is in the queue or what an agent waits for.
final class World {
    /// All that is so at one moment, but for the authority's tables.
    struct State: Sendable {
        var now = Duration.zero
        var order = 0
        var queue: [Queued] = []
        var boards: [SimulatedBoard] = []
        var broker = SimulatedBroker()
        var authorityIsUp = true
        /// Lines whose jobs are to be done, the next first.
        var lines: [String] = []
        var workerIsBusy = false
        var people: [Caller] = []
        var lastLink = 0
        /// When the network was mended for good.
        var healedAt = Duration.zero
        /// Reuse is what this run is about.
        var expectsTheft = false
        var refusals: [Refusal] = []
    }

    /// A moment from which any number of runs can go on.
    struct Snapshot: Sendable {
        let sealing: Sealing
        let state: State
        let tables: Tables
        let books: Lot.Books
    }

    struct Queued: Sendable {
        let at: Duration
        let order: Int
        let happening: Happening
    }

    let sealing: Sealing
    var state: State
    let fates: Fates
    let store: MemoryAuthorityStore
    let worker: SimulatedWorker
    let clock = VirtualClock()
    let authority: Authority
    let refreshKey: SecretBytes
    /// How much of the audit log was looked at.
    var watched: Int
    var rotations: [Int: Rotated] = [:]
    /// Every token that was on a board, and every other secret.
    var tokens: [SecretBytes] = []
    var secrets: [SecretBytes] = []
    var busiestMinute = 0
    private var spins = 0

    init(_ snapshot: Snapshot, _ fates: Fates) throws {
        sealing = snapshot.sealing
        state = snapshot.state
        self.fates = fates
        store = MemoryAuthorityStore(snapshot.tables, fates)
        worker = SimulatedWorker(fates)
        let keys = try KeyRing.read(snapshot.tables.keys)
        refreshKey = keys.refresh
        watched = snapshot.tables.audit.count
        authority = Authority(
            store: store, cryptography: SimulatedAuthorityCryptography(snapshot.sealing),
            worker: worker, keys: keys, rules: Self.rules, clock: { [clock] in clock.now })
        clock.set(SimulatedBoard.start + state.now)
    }

    var snapshot: Snapshot {
        Snapshot(
            sealing: sealing, state: state, tables: store.tables, books: Lot.current.books)
    }

    /// Short lives, so that a run sees several refreshes in a quarter of an hour.
    static let rules = AuthorityRules(
        info: AuthorityInfo(
            name: "Home", applicationID: "postern", publicURL: "https://authority.example",
            topicRoot: .standard, version: "t"),
        lifetimes: LifetimePolicy(
            access: .seconds(300), absolute: .seconds(30 * 86_400), idle: .seconds(5 * 86_400)),
        managesBrokerAccess: true)

    // Time.

    func push(_ happening: Happening, after span: Duration = .zero) {
        state.order += 1
        state.queue.append(
            Queued(at: state.now + span, order: state.order, happening: happening))
    }

    /// Lets `span` pass, or less if `isDone` says so or something happened that never must.
    func run(for span: Duration, until isDone: (World) -> Bool = { _ in false }) async {
        let end = state.now + span
        while !fates.hasFailed {
            if isDone(self) { return }
            let wakes = state.boards.indices.compactMap { index in
                state.boards[index].wakesAt(state.now).map { (index, $0) }
            }
            let next = state.queue.indices.min { earlier($0, $1) }
            let wake = wakes.min { $0.1 < $1.1 }
            guard let at = [next.map { state.queue[$0].at }, wake?.1].compactMap(\.self).min(),
                at <= end
            else { break }
            advance(to: at)
            if let next, state.queue[next].at <= at {
                let queued = state.queue.remove(at: next)
                await happen(queued.happening)
            } else if let wake {
                spin(wake.0)
                self.wake(wake.0)
            }
        }
        if !fates.hasFailed { advance(to: end) }
    }

    private func earlier(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (state.queue[left], state.queue[right])
        return (left.at, left.order) < (right.at, right.order)
    }

    private func advance(to time: Duration) {
        guard time > state.now else { return }
        state.now = time
        spins = 0
        clock.set(SimulatedBoard.start + time)
    }

    private func spin(_ machine: Int) {
        spins += 1
        if spins > 50 { fates.violate("the agent names deadlines without end") }
    }

    func note(_ text: @autoclosure () -> String) {
        fates.note("\(state.now) \(text())")
    }
}
