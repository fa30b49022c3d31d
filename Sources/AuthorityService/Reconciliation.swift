import AuthorityCore
import Logging
import Sessions
import Wire

/// Brings a broker in line with the store after each connect: what a crash of either left
/// undone, what a lost file made the broker forget, what it holds and should not.
struct Reconciliation: Sendable {
    let authority: Authority
    let link: BrokerLink
    let courier: BrokerCourier
    let managesBrokerAccess: Bool
    let logger: Logger

    func run() async {
        do throws(AuthorityError) {
            if managesBrokerAccess { try await alignClients() }
            try await authority.restoreRetained()
            for line in try await authority.linesWithChores() { courier.nudge(line) }
        } catch {
            logger.error("the broker is not yet in line with the store: \(error.words)")
        }
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
            try await authority.restore(logins: boards, people: people)
        }
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
