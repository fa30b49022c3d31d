import AuthorityBroker
package import AuthorityCore
import AuthorityHTTP
package import AuthorityStore
import ConfigurationFiles
import Cryptography
import Foundation
package import LinuxIO
package import Logging
package import LogOutput
import MQTT
import Sessions
import Wire

/// A running authority: store, broker, boards' traffic and HTTP, until its task is cancelled.
package struct AuthorityServer: Sendable {
    private let settings: ServiceSettings
    private let logger: Logger
    let authority: Authority
    let link: BrokerLink
    private let worker: BrokerWorker
    let traffic: BoardTraffic
    private let fleet: FleetSize
    private let reconciliation: Reconciliation
    private let housekeeping: Housekeeping
    private let embedded: EmbeddedBroker?
    let live: LiveBoards
    let hub: EventHub
    /// Nil if live data is off.
    private let tap: LiveDataReader?
    /// Nil: the authority keeps no data.
    let data: DataService?
    private let store: any ServiceStore
    private let clock: ClockGuard
    private let tally: TallyCache
    private let refusals: RefusalLog
    /// Nil if metrics are off.
    private let metrics: MetricsService?
    /// Nil if neither the broker nor the page shows a certificate.
    private let keeper: CertificateKeeper?
    /// The authority's own CA, as PEM.
    private let ownCA: String?
    /// Nil if the broker does not ask over HTTP.
    private let askingBroker: AskingBroker?
    let duty: ReaderDuty
    let readiness: Readiness
    /// Nil if the broker is external.
    private let brokerHold: (any StoreHold)?
    private let presence: Presence
    private let alerts: AlertService

    /// Opens the store and makes the parts. Nothing runs and nothing listens yet. `acceptsClock`:
    /// the clock is right, and the latest time in the store is wrong. `store` is a store that is
    /// already open.
    package init(
        settings: ServiceSettings, acceptsClock: Bool = false,
        store opened: (any ServiceStore)? = nil, data openedData: (any DataStore)? = nil,
        logger: Logger
    ) async throws {
        let folder = StateFolder(settings)
        let store = if let opened { opened } else { try await folder.open() }
        presence = try await Presence(in: store)
        let version = try await store.foreignVersion()
        let records = try await folder.records(of: store)
        let own = try Self.own(settings, folder)
        let ownCA = try own.map { try $0.certificateText() }
        var rules = settings.rules
        rules.brokerPlace = Self.brokerPlace(settings, ca: ownCA)
        let fleet = FleetSize(configured: settings.spread, logger: logger)
        rules.spread = { fleet.spread }
        let embedded = try Self.embedded(settings, folder, records, logger)
        // Two embedded brokers would each know half of the boards.
        brokerHold = embedded == nil
            ? nil : try await StateFolder.only("embedded broker", of: store)
        let login = try Self.login(settings, folder, records)
        let duty = ReaderDuty(store, root: settings.root)
        let link = BrokerLink(login: login, logger: logger, duty: duty)
        let keys = try KeyRing.read(records)
        // The worker only reads and deletes jobs through `jobs`, so `jobs` needs no worker.
        let jobs = Authority(
            store: store, cryptography: SystemCryptography(), worker: NoWorker(), keys: keys,
            rules: rules, clock: systemClock)
        let live = LiveBoards(root: settings.root, clock: systemClock)
        let tap = settings.showsLiveData
            ? try Self.tap(settings, keys, login, link, live, logger) : nil
        (self.live, self.tap, self.fleet) = (live, tap, fleet)
        let worker = BrokerWorker(
            link: link, root: settings.root, access: Self.access(settings, login, logger),
            consumerAccess: try Self.consumerAccess(settings, ca: ownCA), logger: logger,
            authority: jobs, holds: SharedJobLocks(store: store), connected: embedded?.consumers,
            clearData: tap.map { tap in { @Sendable board in tap.clear(after: board) } },
            sensors: Self.withdrawal(settings, jobs, link))
        let authority = Authority(
            store: store, cryptography: SystemCryptography(), worker: worker, keys: keys,
            rules: rules, signatures: IDTokenCheck(settings.keySets, logger: logger),
            codes: try ProviderCodes(settings.loginButtons, logger: logger), clock: systemClock)
        (self.settings, self.logger, self.embedded) = (settings, logger, embedded)
        (self.authority, self.link, self.worker) = (authority, link, worker)
        let clock = try await ClockGuard(
            store: store, authority: authority, acceptsClock: acceptsClock, logger: logger)
        (self.store, self.clock, self.duty, self.ownCA) = (store, clock, duty, ownCA)
        data = try Self.data(
            settings, openedData, folder, login, link, authority, store, clock, logger)
        readiness = Self.readiness(of: store, data: data?.tally)
        keeper = try Self.keeper(settings, own, embedded?.bell, clock, logger)
        hub = EventHub(
            authority: authority, live: live, changes: store.changes(), clock: systemClock,
            logger: logger)
        askingBroker = try Self.makeAskingBroker(settings, login, keys, authority)
        (refusals, tally) = (RefusalLog(logger: logger), TallyCache(of: store))
        traffic = BoardTraffic(
            authority: authority, link: link, worker: worker, clock: clock, live: live,
            duty: duty, refusals: refusals, logger: logger)
        alerts = Self.alerts(settings, authority, store, link, clock, live, fleet, logger)
        metrics = Self.metrics(
            settings, store, tally, traffic, refusals, link, clock, alerts, data?.tally, logger)
        reconciliation = Reconciliation(
            authority: authority, store: store, link: link, worker: worker,
            access: settings.access != .dynamicSecurity ? .none
                : (embedded == nil ? .kept : .computed), logger: logger)
        housekeeping = Housekeeping(
            authority: authority, store: store, worker: worker,
            reconciliation: reconciliation, clock: clock, logger: logger, firstVersion: version)
    }

    /// Runs until its task is cancelled, or until a part fails. Calls `onReady` once, with the port
    /// of HTTP, when the broker and HTTP are both up.
    package func run(onReady: @escaping @Sendable (Int) async -> Void) async throws {
        let gate = ReadyGate(onReady)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let embedded {
                group.addTask { try await embedded.run(accounts: accounts) }
            }
            group.addTask { await connect { await gate.brokerIsUp() } }
            group.addTask { await traffic.run() }
            group.addTask { await worker.run() }
            group.addTask { await housekeeping.sweep() }
            group.addTask { await housekeeping.watch() }
            group.addTask { await hub.run() }
            group.addTask { await presence.keep() }
            group.addTask { await alerts.run() }
            group.addTask {
                await fleet.run { () async throws(AuthorityError) in
                    try await authority.boardsInSession(atMost: FleetSize.enough)
                }
            }
            if let tap { group.addTask { await tap.run() } }
            if let data { group.addTask { await data.run() } }
            let discovery = Self.discovery(settings, authority, store, link, data?.store, logger)
            group.addTask { await discovery.run() }
            if let metrics { group.addTask { await metrics.run() } }
            if let keeper {
                let clock = housekeeping.clock
                group.addTask { await keeper.run { clock.mayAnswer } }
            }
            let files = try ConsoleFolder.files(settings.console, logger)
            let rules = try settings.parseRules()
            group.addTask {
                // HTTP opens when the broker is up, or after 5 s. If the broker asks over HTTP,
                // HTTP opens at once, because the broker needs it to let the authority in.
                if askingBroker == nil { await gate.waitForBroker(atMost: .seconds(5)) }
                try await ConsoleServer(
                    frontend: authority,
                    listen: (settings.listen.host, Int(settings.listen.port)), logger: logger,
                    rules: rules, files: files, live: hub, data: data?.store,
                    askingBroker: askingBroker, proxies: settings.proxies,
                    certificate: keeper?.page, ownCA: ownCA,
                    isStrictlyHTTPS: settings.isStrictlyHTTPS, readiness: readiness,
                    alertTest: alerts, push: alerts.push, loginOrigins: await loginOrigins(),
                    onRefusal: { refusals.note($0) },
                    onListening: { await gate.httpIsUp(port: $0) }
                ).run()
            }
            defer { group.cancelAll() }
            // No part ends by itself. The first part that ends stops all.
            try await group.next()
        }
    }

    /// Refuses to start where nobody could administer.
    package func requireWayIn() async throws {
        guard try await authority.hasWayIn() else { throw StateFolderError.noWayIn }
    }

    /// Empty if the store fails. Then no login is preferred by its origin for now.
    private func loginOrigins() async -> [String] {
        do throws(AuthorityError) {
            return try await authority.loginOrigins()
        } catch {
            logger.debug("the addresses of earlier logins could not be read: \(error.words)")
            return []
        }
    }

    /// Reports the status to the service manager until its task is cancelled.
    package func watch(_ notifier: Notifier, _ journal: LogWriter) async {
        await ServiceWatch(
            notifier: notifier, store: store, tally: tally, link: link, journal: journal
        ).run()
    }

    /// Stops taking new work, finishes the work that was taken, and makes `run` end.
    package func leave() async {
        await ServiceDrain(
            link: link, subscriptions: subscriptions, traffic: traffic, worker: worker,
            hub: hub, readiness: readiness, isOneOfSeveral: store.isShared, logger: logger
        ).take()
    }

    /// Closes the stores: their locks and their places in the database. Call it after `run` has
    /// ended.
    package func close() async {
        do throws(AuthorityError) { try await data?.store.close() } catch {
            logger.debug("the store of records could not be closed: \(error.words)")
        }
        do throws(AuthorityError) { try store.close() } catch {
            logger.debug("the store could not be closed: \(error.words)")
        }
    }

    private var subscriptions: [Subscription] {
        let root = settings.root
        var subscriptions = [
            Subscription("$share/authority/\(root)/+/outbox"),
            Subscription("\(root)/+/status"),
        ]
        if settings.access == .dynamicSecurity {
            subscriptions.append(Subscription(DynamicSecurity.responseTopic))
        }
        return subscriptions
    }

    private func connect(_ up: @escaping @Sendable () async -> Void) async {
        await link.run(
            subscriptions: subscriptions,
            onUp: { [reconciliation] in
                await reconciliation.run()
                await up()
            },
            onMessage: { traffic.take($0) })
    }

    /// Every account that the broker must have, according to the store.
    private func accounts() async throws -> [BrokerAccount] {
        let wanted = try await authority.everyLogin()
        var accounts = tap == nil && data == nil
            ? [] : [try LiveDataReader.account(keys: authority.ownKeys, root: settings.root)]
        for board in wanted.boards {
            guard let login = try await authority.desiredState(for: board).login else { continue }
            accounts.append(BrokerAccount(board: board, login: login, root: settings.root))
        }
        for reader in wanted.readers {
            guard let state = try await authority.desiredState(for: reader) else { continue }
            accounts.append(
                BrokerAccount(reader: state, root: settings.root, checksDeliveries: true))
        }
        return accounts
    }
}

/// Calls `onReady` once, when the broker and HTTP are both up.
private actor ReadyGate {
    private var broker = false
    private var port: Int?
    private var said = false
    private let onReady: @Sendable (Int) async -> Void

    init(_ onReady: @escaping @Sendable (Int) async -> Void) { self.onReady = onReady }

    func brokerIsUp() async {
        broker = true
        await say()
    }

    func waitForBroker(atMost limit: Duration) async {
        let end = ContinuousClock.now + limit
        while !broker, ContinuousClock.now < end, !Task.isCancelled {
            await pause(.milliseconds(10))
        }
    }

    func httpIsUp(port: Int) async {
        self.port = port
        await say()
    }

    private func say() async {
        guard broker, let port, !said else { return }
        said = true
        await onReady(port)
    }
}
