package import AuthorityCore
import Hummingbird
package import Logging

/// The authority's HTTP server: Parse's REST API under its mount, Postern's own API under
/// `/postern/v1`, and the console's page.
package struct ConsoleServer: Sendable {
    private let frontend: any AuthorityFrontend
    private let listen: (host: String, port: Int)
    private let rules: ParseRules
    private let files: StaticFiles
    private let live: (any LiveFeed)?
    private let data: (any DataStore)?
    private let askingBroker: AskingBroker?
    private let proxies: Set<String>
    private let certificate: ConsoleCertificate?
    private let ownCA: String?
    private let isStrictlyHTTPS: Bool
    private let readiness: Readiness
    private let alertTest: (any AlertTest)?
    private let push: (any PushDesk)?
    private let logger: Logger
    private let onRefusal: @Sendable (RefusedRequest) -> Void
    private let onListening: @Sendable (Int) async -> Void
    var load = RequestThrottle()
    var connections = ConnectionLimits()

    /// Port 0 takes a free port. `onListening` gets the real port once the server accepts
    /// connections.
    ///
    /// - `files`: the console's page; without them there is no console.
    /// - `live`: the source of live data; without it the console shows none.
    /// - `data`: the records that boards sent; without it none are kept.
    /// - `askingBroker`: without it every broker that asks about its clients is refused.
    /// - `proxies`: `X-Forwarded-For` counts only from these addresses. They may have any number of
    ///   connections.
    /// - `ownCA`: the authority's own CA, PEM. Anyone may read it.
    /// - `isStrictlyHTTPS`: tells browsers to use only HTTPS for a year.
    /// - `readiness`: says whether requests should come here, and ends the server.
    /// - `alertTest`: sends test messages; without it there is no channel.
    /// - `push`: keeps the browsers that get alerts; without it none do.
    /// - `loginOrigins`: the addresses of earlier logins, the latest one last.
    /// - `onRefusal`: gets each request that was refused because of its caller.
    ///
    /// The application id is the frontend's own.
    package init(
        frontend: any AuthorityFrontend, listen: (host: String, port: Int),
        logger: Logger, rules: ParseRules = ParseRules(), files: StaticFiles = .none,
        live: (any LiveFeed)? = nil, data: (any DataStore)? = nil,
        askingBroker: AskingBroker? = nil, proxies: [String] = [],
        certificate: ConsoleCertificate? = nil, ownCA: String? = nil,
        isStrictlyHTTPS: Bool = false, readiness: Readiness = Readiness(),
        alertTest: (any AlertTest)? = nil, push: (any PushDesk)? = nil,
        loginOrigins: [String] = [],
        onRefusal: @escaping @Sendable (RefusedRequest) -> Void = { _ in },
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.frontend = frontend
        self.listen = listen
        self.rules = rules
        self.files = files
        self.live = live
        self.data = data
        self.askingBroker = askingBroker
        self.proxies = Set(proxies.map(ProxiedOrigin.plain))
        self.certificate = certificate
        self.ownCA = ownCA
        self.isStrictlyHTTPS = isStrictlyHTTPS
        self.readiness = readiness
        self.alertTest = alertTest
        self.push = push
        self.logger = logger
        self.onRefusal = onRefusal
        self.onListening = onListening
        load.know(loginOrigins)
    }

    /// Serves until its task is cancelled or `readiness` closes it; then open requests are
    /// finished. Throws the socket's error if the address cannot be bound.
    package func run() async throws {
        try await HTTPListener(
            address: .hostname(listen.host, port: listen.port), logger: logger,
            certificate: certificate, limits: connections, proxies: proxies,
            readiness: readiness, onListening: onListening
        ).run(responder)
    }

    /// The method and path of each route, such as `GET /parse/users/:id`, to compare them with the
    /// API's description.
    package var routeNames: [String] { responder.names }

    private var responder: ConsoleResponder {
        let parse = ParseRoutes(frontend: frontend, rules: rules, data: data).routes
        let own = PosternRoutes(
            frontend: frontend, parseMount: rules.mount, live: live, data: data, ownCA: ownCA,
            askingBroker: askingBroker, readiness: readiness, alertTest: alertTest,
            push: push
        ).routes
        let page = PageRoutes(frontend: frontend, files: files).routes
        return ConsoleResponder(
            routes: parse + own + page,
            door: CallerCheck(frontend: frontend, rules: rules, onRefusal: onRefusal), load: load,
            proxies: ProxiedOrigin(proxies: proxies), isStrictlyHTTPS: isStrictlyHTTPS,
            readiness: readiness, logger: logger)
    }
}
