package import AuthorityCore
package import AuthorityStore
package import Logging
import Sessions
import Synchronization
import Wire

/// Reconciles a broker with the store after each connect. It finishes jobs that a crash left
/// undone, restores logins that the broker lost, and removes logins that it should not have.
package final class Reconciliation: Sendable {
    private let authority: Authority
    private let link: BrokerLink
    private let worker: BrokerWorker
    private let store: any ServiceStore
    private let access: Access
    private let logger: Logger
    private let isDue = Mutex(false)

    package enum Access: Sendable {
        /// Another system lets boards in.
        case none
        /// The broker's file was computed from the store at its start.
        case computed
        /// The broker keeps its own file, which may be an old backup.
        case kept
    }

    package init(
        authority: Authority, store: any ServiceStore, link: BrokerLink,
        worker: BrokerWorker, access: Access, logger: Logger
    ) {
        self.store = store
        self.authority = authority
        self.link = link
        self.worker = worker
        self.access = access
        self.logger = logger
    }

    /// Call this after each connect. A failed run stays due until `retry` succeeds. It also stays
    /// due if another authority reconciles now, because that run may have begun with older
    /// knowledge.
    package func run() async {
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
                "the broker does not match the store yet: \(error.words)")
        }
    }

    /// Only adds jobs, and is safe to repeat: after an interruption the next connect does it again.
    private func align() async throws(AuthorityError) {
        if access != .none { try await alignClients() }
        try await authority.restoreRetained()
        for line in try await authority.linesWithJobs() { worker.wake(line) }
        isDue.withLock { $0 = false }
    }

    /// Makes the next `retry` reconcile everything again.
    package func demand() { isDue.withLock { $0 = true } }

    /// Repeats a failed `run`, if the broker is connected.
    package func retry() async {
        guard isDue.withLock({ $0 }), await link.isUp else { return }
        await run()
    }

    /// Only adds jobs. A job reads a client's desired state when it runs, so a claim at the same
    /// moment is not undone.
    private func alignClients() async throws(AuthorityError) {
        let answers = try await link.control([
            .init(name: "listClients", members: ["verbose": .bool(true)])
        ])
        guard let clients = answers.first?.data?.asObject?["clients"]?.asArray else {
            throw .failed(layer: "broker access", text: "listClients got no answer")
        }
        let found = clients.compactMap(\.asObject)
        let there = Set(found.compactMap { $0["username"]?.asString })
        let wanted = try await authority.everyLogin()
        let lost = BrokerPopulation(
            boards: wanted.boards.filter { !there.contains($0.description) },
            readers: wanted.readers.filter { !there.contains($0.username) })
        // An existing client may have an old role or password, so with a kept file all are due.
        // After a restore only lost clients are due: an existing client may have a password that
        // this store never gave it.
        let isRestored = try await authority.isRestored()
        let due = access == .kept && !isRestored ? wanted : lost
        let strangers = try await removable(strangers(in: found, wanted), isRestored)
        try await authority.restore(
            logins: due.boards + strangers.boards, readers: due.readers + strangers.readers)
        let (lostCount, strangerCount) = (
            lost.boards.count + lost.readers.count,
            strangers.boards.count + strangers.readers.count)
        guard lostCount + strangerCount > 0 else { return }
        logger.warning(
            "the broker's logins are being matched to the store",
            metadata: ["lost": "\(lostCount)", "unknown": "\(strangerCount)"])
    }

    /// The strangers to remove. A board that the store does not know was set up after the backup
    /// that was restored. Its login stays, and so does what it may send.
    private func removable(
        _ strangers: BrokerPopulation, _ isRestored: Bool
    ) async throws(AuthorityError) -> BrokerPopulation {
        let unknown = try await authority.noteUnknown(amongst: strangers.boards)
        guard unknown.isEmpty else {
            logger.warning(
                "the broker knows boards that this store does not know; was a backup restored?",
                metadata: ["count": "\(unknown.count)", "first": "\(unknown[0])"])
            return BrokerPopulation(
                boards: isRestored ? [] : strangers.boards.filter { !unknown.contains($0) },
                readers: isRestored ? [] : strangers.readers)
        }
        return isRestored ? BrokerPopulation(boards: [], readers: []) : strangers
    }

    /// Clients with the authority's mark that the store does not want. Others are left alone.
    private func strangers(
        in clients: [[String: JSONValue]], _ wanted: BrokerPopulation
    ) -> BrokerPopulation {
        let mark = BrokerAccount.mark(authority.info.topicRoot)
        let names = clients.filter { $0["textdescription"]?.asString == mark }
            .compactMap { $0["username"]?.asString }
        return BrokerPopulation(
            boards: Array(Set(names.compactMap { InstallationID($0) })
                .subtracting(wanted.boards)),
            readers: Array(Set(names.compactMap { BrokerReader(username: $0) })
                .subtracting(wanted.readers)))
    }
}
