import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Synchronization
import Wire

/// Brings a broker in line with the store after each connect: what a crash of either left
/// undone, what a lost or an older file made the broker forget, what it holds and should not.
final class Reconciliation: Sendable {
    private let authority: Authority
    private let link: BrokerLink
    private let courier: BrokerCourier
    private let store: any ServiceStore
    private let access: Access
    private let logger: Logger
    private let isDue = Mutex(false)

    enum Access: Sendable {
        /// Somebody else lets boards in.
        case none
        /// The broker's file was computed from the store at its start.
        case computed
        /// The broker's file is its own, and may be any backup of it.
        case kept
    }

    init(
        authority: Authority, store: any ServiceStore, link: BrokerLink,
        courier: BrokerCourier, access: Access, logger: Logger
    ) {
        self.store = store
        self.authority = authority
        self.link = link
        self.courier = courier
        self.access = access
        self.logger = logger
    }

    /// To be called after each connect. What fails is due until `retry` has done it, and so is
    /// what another authority is at: it may have begun before we knew what we know.
    func run() async {
        isDue.withLock { $0 = true }
        do throws(AuthorityError) {
            guard let hold = try await store.hold("reconcile") else { return }
            do throws(AuthorityError) {
                try await align()
            } catch {
                await hold.release()
                throw error
            }
            await hold.release()
        } catch {
            logger.log(
                level: Task.isCancelled ? .debug : .error,
                "the broker is not yet in line with the store: \(error.words)")
        }
    }

    /// Leaves chores; whoever ends in the middle leaves it to the next connect, and it is the
    /// same done twice.
    private func align() async throws(AuthorityError) {
        if access != .none { try await alignClients() }
        try await authority.restoreRetained()
        for line in try await authority.linesWithChores() { courier.nudge(line) }
        isDue.withLock { $0 = false }
    }

    /// Has the next `retry` do all of it again.
    func demand() { isDue.withLock { $0 = true } }

    /// Does what `run` could not, once there is a broker.
    func retry() async {
        guard isDue.withLock({ $0 }), await link.isUp else { return }
        await run()
    }

    /// Only leaves chores: what a client is to be is decided when its turn comes, so that a
    /// claim of the same moment is not undone.
    private func alignClients() async throws(AuthorityError) {
        let answers = try await link.control([
            .init(name: "listClients", members: ["verbose": .bool(true)])
        ])
        guard let clients = answers.first?.data?.asObject?["clients"]?.asArray else {
            throw .failed(layer: "broker access", text: "listClients has no answer")
        }
        let found = clients.compactMap(\.asObject)
        let there = Set(found.compactMap { $0["username"]?.asString })
        let wanted = try await authority.everyLogin()
        let lost = BrokerPopulation(
            boards: wanted.boards.filter { !there.contains($0.description) },
            people: wanted.people.filter { !there.contains("person-\($0)") })
        // That a client is there does not say that its role and password are today's; but one
        // that is ahead of a restored store has a password that this store never gave it.
        let isRestored = try await authority.isRestored()
        let due = access == .kept && !isRestored ? wanted : lost
        let strangers = try await removable(strangers(in: found, wanted), isRestored)
        try await authority.restore(
            logins: due.boards + strangers.boards, people: due.people + strangers.people)
        let (lostCount, strangerCount) = (
            lost.boards.count + lost.people.count,
            strangers.boards.count + strangers.people.count)
        guard lostCount + strangerCount > 0 else { return }
        logger.warning(
            "the broker's logins are brought in line",
            metadata: ["lost": "\(lostCount)", "unknown": "\(strangerCount)"])
    }

    /// Those of them that go. A board that the store has never heard of was set up after the
    /// backup that the store came from: its login stays, and so does what it may send.
    private func removable(
        _ strangers: BrokerPopulation, _ isRestored: Bool
    ) async throws(AuthorityError) -> BrokerPopulation {
        let unknown = try await authority.noteUnknown(amongst: strangers.boards)
        guard unknown.isEmpty else {
            logger.warning(
                "the broker knows boards that this store does not; was a backup restored?",
                metadata: ["count": "\(unknown.count)", "first": "\(unknown[0])"])
            return BrokerPopulation(
                boards: isRestored ? [] : strangers.boards.filter { !unknown.contains($0) },
                people: isRestored ? [] : strangers.people)
        }
        return isRestored ? BrokerPopulation(boards: [], people: []) : strangers
    }

    /// Clients with our mark that no session has. Anyone else's are left alone.
    private func strangers(
        in clients: [[String: JSONValue]], _ wanted: BrokerPopulation
    ) -> BrokerPopulation {
        let mark = BrokerAccount.mark(authority.info.topicRoot)
        let names = clients.filter { $0["textdescription"]?.asString == mark }
            .compactMap { $0["username"]?.asString }
        let people = names.filter { $0.hasPrefix("person-") }
            .compactMap { ObjectID(String($0.dropFirst(7))) }
        return BrokerPopulation(
            boards: Array(Set(names.compactMap { InstallationID($0) })
                .subtracting(wanted.boards)),
            people: Array(Set(people).subtracting(wanted.people)))
    }
}
