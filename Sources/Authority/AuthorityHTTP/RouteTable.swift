import AuthorityCore
import Hummingbird
import Logging
import NIOCore
import Sessions
import Wire

/// All routes, and the one place where a request becomes a call and an error an answer.
struct RouteTable: HTTPResponder {
    typealias Context = ConsoleContext

    private let matcher: RouteMatcher
    private let door: Doorkeeper
    private let proxies: ProxiedOrigin

    private let isStrictlyHTTPS: Bool
    private let readiness: Readiness?
    private let load: ConsoleLoad
    /// Without the mark of each request, by which no two lines were the same.
    private let logger: Logger?

    init(
        routes: [Route], door: Doorkeeper, proxies: ProxiedOrigin, isStrictlyHTTPS: Bool = false,
        readiness: Readiness? = nil, load: ConsoleLoad = ConsoleLoad(), logger: Logger? = nil
    ) {
        self.logger = logger
        self.readiness = readiness
        self.load = load
        self.isStrictlyHTTPS = isStrictlyHTTPS
        let batch = BatchRoute(
            requests: RouteMatcher(routes.filter(\.isParse)), door: door, load: load)
        matcher = RouteMatcher(routes + batch.routes)
        self.door = door
        self.proxies = proxies
    }

    var names: [String] { matcher.names }

    /// Any other method on a known path is 405 with `Allow`; any other path is 404.
    func respond(to request: Request, context: ConsoleContext) async -> Response {
        var context = context
        context.origin = proxies.origin(of: request, from: context.origin)
        var response = await answer(request, in: context).response
        // A year. Source: RFC 6797 §6.1.
        if isStrictlyHTTPS { response.headers[.strictTransportSecurity] = "max-age=31536000" }
        // The next request is better sent over a connection to somebody who stays.
        // Source: RFC 9112 §9.6.
        if readiness?.isDraining == true { response.headers[.connection] = "close" }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(_ request: Request, in context: ConsoleContext) async -> Answer {
        // Source: RFC 9112 §3.2.
        if let name = HTTPFieldName.secondHost, request.headers.contains(name) {
            return Answer(.badRequest, Refusal(.validation, "there are two Host headers"))
        }
        guard let place = matcher.place(of: request.uri.path) else { return .noRoute }
        let call = Call(request, in: context, at: place.parameters)
        let own = place.route(for: request.method)
        if let own, let wait = load.refusal(of: own) { return .overloaded(retryAfter: wait) }
        var answer: Answer
        do throws(AuthorityError) {
            if place.isParse, request.method == .post {
                answer = try await answerPost(request, call, own, at: place)
            } else if let own {
                answer = try await self.answer(request, call, by: own)
            } else {
                answer = .noMethod(allowed: place.allowed)
            }
        } catch {
            answer = Answer(error)
        }
        // The same words again and again are one line and a count in the log.
        if let fault = answer.fault { logger?.error("a request fails: \(fault)") }
        guard let route = own ?? place.anyRoute else { return answer }
        if answer.isSessionOver, route.takesCookie, call.cookieBearer.isThere, call.isFromOwnPage {
            answer.headers[.setCookie] = call.cookie.forgetting
        }
        // The route's own path, never the request's: that may hold ids and a query.
        context.logger.debug("request", metadata: [
            "route": "\(route.methodName) \(route.path)", "status": "\(answer.status.code)",
        ])
        return answer
    }

    /// Who asks is judged before any byte of the body is read.
    private func answer(
        _ request: Request, _ call: Call, by route: Route
    ) async throws(AuthorityError) -> Answer {
        guard let handle = try await door.admit(call, to: route) else { return .unauthorized }
        switch await Body(of: request, by: call, limit: route.bodyLimit) {
        case .whole(let bytes):
            return try await load.measuring(handle, of: route)(call.with(body: bytes))
        case .refused(let answer): return answer
        }
    }

    /// A POST to Parse's API, whose body may name another method and, where no header names
    /// the application, who asks. Otherwise who asks is judged before the body is read, and
    /// once more if the body leads elsewhere.
    private func answerPost(
        _ request: Request, _ call: Call, _ own: Route?, at place: RouteMatcher.Place
    ) async throws(AuthorityError) -> Answer {
        var handle: Route.Handler?
        if call.applicationID != nil, let first = own ?? place.anyRoute {
            handle = try await door.admit(call, to: first)
            guard handle != nil else { return .unauthorized }
        }
        let bytes: [UInt8]
        switch await Body(
            of: request, by: call, limit: own?.bodyLimit ?? place.bodyLimit) {
        case .whole(let whole): bytes = whole
        case .refused(let answer): return answer
        }
        guard handle != nil || load.mayRead(bytes.count, from: call.origin) else {
            return .overloaded(retryAfter: BodyAllowance.retryAfter)
        }
        guard let form = load.measuring({ BodyForm(bytes) }) else {
            // Not an object, so it says nothing of who asks or how.
            guard let handle else { return .unauthorized }
            guard let own else { return .noMethod(allowed: place.allowed) }
            return try await load.measuring(handle, of: own)(call.with(body: bytes))
        }
        guard handle == nil || !form.namesCredentials else { throw Credentials.twice }
        let route = form.route(at: place)
        var call = call.with(members: form.members)
        if let handle, let route, route.method == own?.method {
            return try await load.measuring(handle, of: route)(call)
        }
        if handle == nil { call = call.with(try call.credentials.with(form.control)) }
        guard let judged = route ?? place.anyRoute,
            let second = try await door.admit(call, to: judged)
        else { return .unauthorized }
        guard let route else { return .noMethod(allowed: place.allowed) }
        return try await load.measuring(second, of: route)(call)
    }
}

/// A request's body, read to its end or not at all.
private enum Body: Sendable {
    case whole([UInt8])
    case refused(Answer)

    /// How long a body may take to come: one that drips would hold its connection for ever.
    private static let patience = Duration.seconds(15)

    init(of request: Request, by call: Call, limit: Int) async {
        let timer = Task {
            try await Task.sleep(for: Self.patience)
            call.connection.close()
        }
        defer { timer.cancel() }
        do {
            self = .whole(Array(buffer: try await request.body.collect(upTo: limit)))
        } catch is NIOTooManyBytesError {
            self = .refused(.tooLarge(limit: limit))
        } catch {
            self = .refused(
                Answer(.badRequest, Refusal(.invalidJSON, "the body did not come whole")))
        }
    }
}
