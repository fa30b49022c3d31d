import AuthorityCore
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
        authority: Authority, link: BrokerLink, courier: BrokerCourier, access: Access,
        logger: Logger
    ) {
        self.authority = authority
        self.link = link
        self.courier = courier
        self.access = access
        self.logger = logger
    }

    /// To be called after each connect. What fails is due until `retry` has done it.
    func run() async {
        isDue.withLock { $0 = true }
        do throws(AuthorityError) {
            if access != .none { try await alignClients() }
            try await authority.restoreRetained()
            for line in try await authority.linesWithChores() { courier.nudge(line) }
            isDue.withLock { $0 = false }
        } catch {
            logger.error("the broker is not yet in line with the store: \(error.words)")
        }
    }

    /// Does what `run` could not, once there is a broker.
    func retry() async {
        guard isDue.withLock({ $0 }), await link.isUp else { return }
        await run()
    }

    private func alignClients() async throws(AuthorityError) {
        let answers = try await link.control([
            .init(name: "listClients", members: ["verbose": .bool(false)])
        ])
        guard let names = answers.first?.data?.asObject?["clients"]?.asArray else {
            throw .failed(layer: "broker access", text: "listClients has no answer")
        }
        let there = Set(names.compactMap(\.asString))
        let wanted = try await authority.everyLogin()
        let boards = wanted.boards.filter { !there.contains($0.description) }
        let people = wanted.people.filter { !there.contains("person-\($0)") }
        if !boards.isEmpty || !people.isEmpty {
            logger.warning("restoring \(boards.count + people.count) lost broker logins")
        }
        // That a client is there does not say that its role and password are today's.
        let isKept = access == .kept
        try await authority.restore(
            logins: isKept ? wanted.boards : boards, people: isKept ? wanted.people : people)
        let known = Set(wanted.boards.map(\.description) + wanted.people.map { "person-\($0)" })
        for stranger in there.subtracting(known) {
            guard let role = roleOfOurs(stranger) else { continue }
            logger.warning("removing a broker login that no session has")
            _ = try await link.control(BrokerAccount.removal(username: stranger, role: role))
        }
    }

    /// The role of a client that only we make; nil for anyone else's, which is left alone.
    private func roleOfOurs(_ username: String) -> String? {
        if let board = InstallationID(username) { return BrokerRole.boardName(board) }
        guard username.hasPrefix("person-"), ObjectID(String(username.dropFirst(7))) != nil else {
            return nil
        }
        return username
    }
}
