import AuthorityBroker
import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Wire

/// Announces the boards' numbers to Home Assistant, with retained messages at the boards' broker.
///
/// If several authorities share a store, the one that holds the lock does so. The store has the ids
/// of all announced sensors, so nothing is forgotten at the broker. This keeps one number in memory
/// for each board.
final class DiscoveryService: Sendable {
    private let authority: Authority
    private let store: any ServiceStore
    private let link: BrokerLink
    private let messages: SensorWithdrawal
    private let mode: Mode
    private let logger: Logger

    enum Mode: Sendable {
        case on(any DataStore)
        /// The store of records could not be opened. The messages stay as they are.
        case unable
        /// The messages of an earlier configuration are removed.
        case off
    }

    /// A round begins after this time, or later: rounds take at most a tenth of the time.
    private static let rhythm = Duration.seconds(10)
    private static let boardsOfPage = 1000

    init(
        authority: Authority, store: any ServiceStore, link: BrokerLink,
        messages: SensorWithdrawal, mode: Mode, logger: Logger
    ) {
        (self.authority, self.store, self.link) = (authority, store, link)
        (self.messages, self.mode, self.logger) = (messages, mode, logger)
    }

    /// What the broker has, as far as this process knows.
    private struct Knowledge {
        /// The connection that the messages were published on. The broker may have lost messages
        /// that were published on an earlier one.
        var connection = 0
        /// The digest of each board's messages.
        var digests: [InstallationID: Int] = [:]
        var isFull = false
    }

    /// Works until its task is cancelled.
    func run() async {
        var known = Knowledge()
        var hold: (any StoreHold)?
        var hasWarned = false
        var isDone = false
        while !Task.isCancelled {
            let begun = ContinuousClock.now
            do throws(AuthorityError) {
                if hold?.isHeld != true, !isDone {
                    hold = try await store.hold("home assistant")
                    known = Knowledge()
                }
                if hold != nil, await link.isUp, !isDone {
                    isDone = try await round(&known)
                    hasWarned = false
                    if isDone { await hold?.release() }
                }
            } catch {
                // The digests of boards before the failure are right, so the next round goes on.
                logger.log(
                    level: hasWarned || Task.isCancelled ? .debug : .warning,
                    "sensors are not announced to Home Assistant for now: \(error.words)")
                hasWarned = true
            }
            await pause(max(Self.rhythm, (ContinuousClock.now - begun) * 9))
        }
        await hold?.release()
    }

    /// True if no further round is needed.
    private func round(_ known: inout Knowledge) async throws(AuthorityError) -> Bool {
        switch mode {
        case .on(let data):
            try await messages.run(released: true)
            try await announce(data, &known)
        case .unable: try await messages.run(released: true)
        case .off:
            try await messages.run(released: false)
            return true
        }
        return false
    }

    private func announce(
        _ data: any DataStore, _ known: inout Knowledge
    ) async throws(AuthorityError) {
        if known.connection != link.connections {
            known = Knowledge(connection: link.connections)
        }
        var room = BoardSensor.fleetLimit - (try await authority.announcedSensorCount())
        var seen: Set<InstallationID> = []
        var last: BoardRecord?
        repeat {
            let boards = try await authority.announcedBoards(
                after: last, limit: Self.boardsOfPage)
            for board in boards {
                seen.insert(board.record.installation)
                let values = try await data.newest(
                    of: board.record.installation, owner: board.record.owner)
                let plan = SensorPlan(board, values, room: room)
                try await settle(board, plan, &known)
                room -= plan.added
            }
            last = boards.count < Self.boardsOfPage ? nil : boards.last?.record
        } while last != nil
        known.digests = known.digests.filter { seen.contains($0.key) }
        warn(isFull: room <= 0, &known)
    }

    /// Publishes a board's messages if they changed, one by one, so that boards' requests do not
    /// wait for them.
    private func settle(
        _ board: AnnouncedBoard, _ plan: SensorPlan, _ known: inout Knowledge
    ) async throws(AuthorityError) {
        let id = board.record.installation
        guard board.announced != plan.ids || known.digests[id] != plan.digest else { return }
        guard !(board.announced.isEmpty && plan.ids.isEmpty) else { return }
        known.digests[id] = nil
        let present = (plan.ids + plan.obsolete).sorted { $0.description < $1.description }
        guard try await authority.noteSensors(present, of: board.record) else { return }
        for message in plan.messages(by: authority.info) {
            try await messages.publish(message.payload, message.id, of: id)
        }
        try await messages.remove(plan.obsolete, of: id)
        guard try await authority.noteSensors(plan.ids, of: board.record) else {
            // The board was released meanwhile, and its sensors may be forgotten already.
            return try await messages.remove(present, of: id)
        }
        known.digests[id] = plan.digest
    }

    private func warn(isFull: Bool, _ known: inout Knowledge) {
        if isFull, !known.isFull {
            logger.warning("""
                \(BoardSensor.fleetLimit) sensors are announced to Home Assistant, which is the \
                limit; further numbers have no sensor
                """)
        }
        known.isFull = isFull
    }
}

extension AuthorityServer {
    /// Nil if sensors are not announced.
    static func withdrawal(
        _ settings: ServiceSettings, _ jobs: Authority, _ link: BrokerLink
    ) -> SensorWithdrawal? {
        settings.rules.discovery.map { prefix in
            SensorWithdrawal(authority: jobs, link: link, prefix: prefix)
        }
    }

    static func discovery(
        _ settings: ServiceSettings, _ authority: Authority, _ store: any ServiceStore,
        _ link: BrokerLink, _ data: (any DataStore)?, _ logger: Logger
    ) -> DiscoveryService {
        let mode: DiscoveryService.Mode = settings.rules.discovery == nil
            ? .off : data.map { .on($0) } ?? .unable
        return DiscoveryService(
            authority: authority, store: store, link: link,
            messages: SensorWithdrawal(
                authority: authority, link: link, prefix: settings.discoveryPrefix),
            mode: mode, logger: logger)
    }
}
