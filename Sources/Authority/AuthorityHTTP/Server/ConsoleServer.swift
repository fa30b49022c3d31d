package import AuthorityCore
import Hummingbird
package import Logging

/// An authority's HTTP: Parse's REST API under its mount, Postern's own under `/postern/v1`,
/// and the console's page.
package struct ConsoleServer: Sendable {
    private let frontend: any AuthorityFrontend
    private let listen: (host: String, port: Int)
    private let rules: ParseRules
    private let files: StaticFiles
    private let live: (any LiveFeed)?
    private let askingBroker: AskingBroker?
    private let proxies: Set<String>
    private let certificate: ConsoleCertificate?
    private let ownCA: String?
    private let isStrictlyHTTPS: Bool
    private let readiness: Readiness
    private let logger: Logger
    private let onRefusal: @Sendable (RefusedRequest) -> Void
    private let onListening: @Sendable (Int) async -> Void
    var load = RequestThrottle()
    var connections = ConnectionLimits()

    /// Port 0 takes a free one; `onListening` is told the real one once connections are taken.
    /// Without `files` there is no console, and without `live` it shows nothing that happens.
    /// Without `askingBroker` no broker is answered about its clients.
    /// What `X-Forwarded-For` says counts from the addresses in `proxies` alone, and these may
    /// have any number of connections. The application id is the frontend's own. `ownCA`, PEM,
    /// is given to whoever asks; `isStrictlyHTTPS` has browsers come by HTTPS alone for a year.
    /// `readiness` says whether requests should come here, and ends the server. `loginOrigins`
    /// are the addresses that people logged in from, the last one last. `onRefusal` is told of
    /// each request that was refused for who asks.
    package init(
        frontend: any AuthorityFrontend, listen: (host: String, port: Int),
        logger: Logger, rules: ParseRules = ParseRules(), files: StaticFiles = .none,
        live: (any LiveFeed)? = nil, askingBroker: AskingBroker? = nil, proxies: [String] = [],
        certificate: ConsoleCertificate? = nil, ownCA: String? = nil,
        isStrictlyHTTPS: Bool = false, readiness: Readiness = Readiness(),
        loginOrigins: [String] = [],
        onRefusal: @escaping @Sendable (RefusedRequest) -> Void = { _ in },
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.frontend = frontend
        self.listen = listen
        self.rules = rules
        self.files = files
        self.live = live
        self.askingBroker = askingBroker
        self.proxies = Set(proxies.map(ProxiedOrigin.plain))
        self.certificate = certificate
        self.ownCA = ownCA
        self.isStrictlyHTTPS = isStrictlyHTTPS
        self.readiness = readiness
        self.logger = logger
        self.onRefusal = onRefusal
        self.onListening = onListening
        load.know(loginOrigins)
    }

    /// Serves until its task is cancelled or `readiness` closes it; then open requests are
    /// finished. Throws what the socket says when the address cannot be had.
    package func run() async throws {
        try await HTTPListener(
            address: .hostname(listen.host, port: listen.port), logger: logger,
            certificate: certificate, limits: connections, proxies: proxies,
            readiness: readiness, onListening: onListening
        ).run(responder)
    }

    /// `GET /parse/users/:id` of each route, for whoever holds a description against them.
    package var routeNames: [String] { responder.names }

    private var responder: ConsoleResponder {
        let parse = ParseRoutes(frontend: frontend, rules: rules).routes
        let own = PosternRoutes(
            frontend: frontend, parseMount: rules.mount, live: live, ownCA: ownCA,
            askingBroker: askingBroker, readiness: readiness
        ).routes
        let page = PageRoutes(frontend: frontend, files: files).routes
        return ConsoleResponder(
            routes: parse + own + page,
            door: Doorkeeper(frontend: frontend, rules: rules, onRefusal: onRefusal), load: load,
            proxies: ProxiedOrigin(proxies: proxies), isStrictlyHTTPS: isStrictlyHTTPS,
            readiness: readiness, logger: logger)
    }
}
