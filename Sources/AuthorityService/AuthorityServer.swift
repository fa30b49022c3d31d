import AuthorityCore
import AuthorityStore
import Console
import Cryptography
import Foundation
import Journal
import LinuxIO
import Logging
import Mosquitto
import Sessions
import Wire

/// A running authority: store, broker, boards' traffic and HTTP, until its task is cancelled.
struct AuthorityServer: Sendable {
    private let settings: ServiceSettings
    private let logger: Logger
    let authority: Authority
    let link: BrokerLink
    private let courier: BrokerCourier
    let traffic: BoardTraffic
    private let reconciliation: Reconciliation
    private let housekeeping: Housekeeping
    private let embedded: EmbeddedBroker?
    let live: LiveBoards
    let hub: EventHub
    /// Nil where no live data is wanted.
    private let tap: DataTap?
    private let store: SQLiteAuthorityStore
    private let clock: ClockGuard
    /// Nil where nobody asks for figures.
    private let figures: FigureService?

    /// Opens the store and makes the parts; nothing runs and nothing listens yet.
    /// `acceptsClock`: what the store knows of the time is wrong, and the clock right.
    init(settings: ServiceSettings, acceptsClock: Bool = false, logger: Logger) async throws {
        let folder = StateFolder(path: settings.stateDirectory)
        let store = try folder.open()
        let version = try await store.foreignVersion()
        let records = try await folder.records(of: store)
        let embedded = try Self.embedded(settings, folder, records, logger)
        let link = BrokerLink(
            login: try Self.login(settings, records), logger: logger)
        let keys = try KeyRing.read(records)
        let cryptography = SystemCryptography()
        // The courier reads the chores and strikes them off; it sends nobody on its errands.
        let desk = Authority(
            store: store, cryptography: cryptography, courier: NoCourier(), keys: keys,
            rules: settings.rules, clock: systemClock)
        let courier = BrokerCourier(
            link: link, root: settings.root, manages: settings.managesBrokerAccess,
            consumerAccess: try Self.consumerAccess(settings), logger: logger, desk: desk)
        let authority = Authority(
            store: store, cryptography: cryptography, courier: courier, keys: keys,
            rules: settings.rules,
            signatures: IDTokenCheck(settings.keySets, logger: logger), clock: systemClock)
        self.settings = settings
        self.logger = logger
        self.authority = authority
        self.link = link
        self.courier = courier
        self.embedded = embedded
        let clock = try await ClockGuard(
            store: store, authority: authority, acceptsClock: acceptsClock, logger: logger)
        self.store = store
        self.clock = clock
        let live = LiveBoards(root: settings.root, clock: systemClock)
        self.live = live
        hub = EventHub(authority: authority, live: live, clock: systemClock, logger: logger)
        tap = settings.showsLiveData
            ? try Self.tap(settings, keys, records, link, live, logger) : nil
        traffic = BoardTraffic(
            authority: authority, link: link, courier: courier, clock: clock, live: live,
            logger: logger)
        figures = settings.metrics.map { [traffic] place in
            FigureService(place, logger) { () async throws(AuthorityError) in
                AuthorityFigures(
                    tally: try await store.tally(), traffic: traffic.tally,
                    isBrokerUp: await link.isUp, isClockBelieved: clock.mayAnswer)
            }
        }
        reconciliation = Reconciliation(
            authority: authority, link: link, courier: courier,
            access: settings.managesBrokerAccess ? (embedded == nil ? .kept : .computed) : .none,
            logger: logger)
        housekeeping = Housekeeping(
            authority: authority, store: store, courier: courier,
            reconciliation: reconciliation, clock: clock, logger: logger, firstVersion: version)
    }

    /// Runs until cancelled, or until a part of it cannot go on. `onReady` is called once,
    /// when the broker and HTTP are both up, with the port that HTTP has.
    func run(onReady: @escaping @Sendable (Int) async -> Void) async throws {
        let gate = ReadyGate(onReady)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let embedded {
                group.addTask { try await embedded.run(accounts: accounts) }
            }
            group.addTask { await connect { await gate.brokerIsUp() } }
            group.addTask { await traffic.run() }
            group.addTask { await courier.run() }
            group.addTask { await housekeeping.sweep() }
            group.addTask { await housekeeping.watch() }
            group.addTask { await hub.run() }
            if let tap { group.addTask { await tap.run() } }
            if let figures { group.addTask { await figures.run() } }
            let files = try ConsoleFolder.files(settings.console, logger)
            let rules = try settings.parseRules()
            group.addTask {
                // Who finds HTTP open may count on the broker, unless that stays away.
                await gate.waitForBroker(atMost: .seconds(5))
                try await ConsoleServer(
                    frontend: authority,
                    listen: (settings.listen.host, Int(settings.listen.port)), logger: logger,
                    rules: rules, files: files, live: hub, proxies: settings.proxies,
                    onListening: { await gate.httpIsUp(port: $0) }
                ).run()
            }
            defer { group.cancelAll() }
            // None of them ends by itself; the first that does ends all.
            try await group.next()
        }
    }

    /// Tells the service manager how this is, until its task is cancelled.
    func watch(_ notifier: Notifier, _ journal: Journal) async {
        await ServiceWatch(
            notifier: notifier, store: store, link: link, journal: journal
        ).run()
    }

    private func connect(_ up: @escaping @Sendable () async -> Void) async {
        let root = settings.root
        var subscriptions = [
            Subscription("$share/authority/\(root)/+/outbox"),
            Subscription("\(root)/+/status"),
        ]
        if settings.managesBrokerAccess {
            subscriptions.append(Subscription(DynamicSecurity.responseTopic))
        }
        await link.run(
            subscriptions: subscriptions,
            onUp: { [reconciliation] in
                await reconciliation.run()
                await up()
            },
            onMessage: { traffic.take($0) })
    }

    /// Every account that the store wants at the broker.
    private func accounts() async throws -> [BrokerAccount] {
        let wanted = try await authority.everyLogin()
        var accounts = tap == nil
            ? [] : [try DataTap.account(keys: authority.ownKeys, root: settings.root)]
        for board in wanted.boards {
            guard let login = try await authority.wish(for: board).login else { continue }
            accounts.append(BrokerAccount(
                username: board.description, password: login.password,
                clientID: "postern-\(board)",
                role: BrokerRole(
                    board: board, root: settings.root, data: login.mayPublishData,
                    extraTopics: login.extraTopics ?? []),
                owner: BrokerAccount.mark(settings.root)))
        }
        for person in wanted.people {
            guard let wish = try await authority.wish(forPerson: person) else { continue }
            accounts.append(BrokerAccount(
                username: wish.username, password: wish.password,
                clientID: "postern-\(wish.username)",
                role: BrokerRole(person: wish.username, filters: wish.filters),
                owner: BrokerAccount.mark(settings.root)))
        }
        return accounts
    }
}

// The parts that depend on the kind of broker.
extension AuthorityServer {
    private static func embedded(
        _ settings: ServiceSettings, _ folder: StateFolder, _ records: [KeyRecord],
        _ logger: Logger
    ) throws -> EmbeddedBroker? {
        guard case .embedded(let host, let port) = settings.broker else { return nil }
        return EmbeddedBroker(
            folder: folder.broker, host: host, port: port, root: settings.root,
            password: try KeyRing.newest(.brokerPassword, records).privateKey, logger: logger)
    }

    private static func login(
        _ settings: ServiceSettings, _ records: [KeyRecord]
    ) throws -> BrokerLink.BrokerLogins {
        switch settings.broker {
        case .embedded(let host, let port):
            return BrokerLink.BrokerLogins(
                uri: try BrokerURI(address(host, port)), clientID: EmbeddedBroker.username,
                username: EmbeddedBroker.username,
                password: try KeyRing.newest(.brokerPassword, records).privateKey, caFile: nil,
                isAlone: true)
        case .external(let uri, let username, let passwordFile, let caFile):
            let password = try passwordFile.map { file in
                SecretBytes(Self.firstLine(try PrivateFile.read(file, limit: 4096)))
            }
            return BrokerLink.BrokerLogins(
                uri: uri, clientID: try externalClientID(), username: username,
                password: password, caFile: caFile, isAlone: false)
        }
    }

    private static func tap(
        _ settings: ServiceSettings, _ keys: AuthorityKeys, _ records: [KeyRecord],
        _ link: BrokerLink, _ live: LiveBoards, _ logger: Logger
    ) throws -> DataTap {
        let own = try login(settings, records)
        let account = settings.managesBrokerAccess
            ? try DataTap.account(keys: keys, root: settings.root) : nil
        let random = Base64URL.encode(try RandomBytes.make(8))
        var admit: (@Sendable (Bool) async throws(AuthorityError) -> Void)?
        if let account, case .external = settings.broker {
            admit = { wasRefused async throws(AuthorityError) in
                try await DataTap.admit(account, over: link, wasRefused: wasRefused)
            }
        }
        return DataTap(
            login: BrokerLink.BrokerLogins(
                uri: own.uri, clientID: "\(DataTap.username)-\(random)",
                username: account?.username ?? own.username,
                password: account?.password ?? own.password, caFile: own.caFile,
                isAlone: false),
            root: settings.root, admit: admit, live: live, logger: logger)
    }

    /// Another each time: under one that is known, replicas would cut each other off, and so
    /// could anyone whom that broker lets choose.
    private static func externalClientID() throws -> String {
        let random = try RandomBytes.make(8)
        return "\(EmbeddedBroker.username)-\(Base64URL.encode(random))"
    }

    private static func consumerAccess(_ settings: ServiceSettings) throws -> ConsumerAccess? {
        guard settings.managesBrokerAccess else { return nil }
        switch settings.broker {
        case .embedded(let host, let port):
            return ConsumerAccess(uri: settings.advertise ?? address(host, port), ca: nil)
        case .external(let uri, _, _, let caFile):
            let ca = try caFile.map { try String(contentsOfFile: $0, encoding: .utf8) }
            return ConsumerAccess(uri: settings.advertise ?? uri.description, ca: ca)
        }
    }

    private static func address(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "mqtt://[\(host)]:\(port)" : "mqtt://\(host):\(port)"
    }

    static func firstLine(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }
}

/// Calls `onReady` once, when both sides are up.
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
