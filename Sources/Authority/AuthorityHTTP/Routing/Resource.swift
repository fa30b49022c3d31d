import AuthorityCore
import Hummingbird
import Logging
import NIOCore
import Sessions
import Wire

/// A path and its routes, one for each method. Turns a request into a call, and an error into an
/// answer.
struct Resource: HTTPResponder {
    typealias Context = ConsoleContext

    /// Such as `/parse/sessions/:id`.
    let path: String
    let routes: [HTTPRequest.Method: HTTPRoute]
    let door: CallerCheck
    let load: RequestThrottle
    /// A logger without request ids. With them no two log lines would be equal, so none could be
    /// counted together.
    let logger: Logger?

    /// HEAD uses the route of GET; the body is dropped later. Source: RFC 9110 §9.3.2.
    private func route(for method: HTTPRequest.Method) -> HTTPRoute? {
        routes[method] ?? (method == .head ? routes[.get] : nil)
    }

    var allowed: [HTTPRequest.Method] {
        [.get, .post, .put, .patch, .delete, .options].filter { routes[$0] != nil }
    }

    private var isParse: Bool { routes.values.contains(where: \.isParse) }
    /// The largest body limit of its routes, in bytes.
    private var bodyLimit: Int { routes.values.map(\.bodyLimit).max() ?? 0 }
    /// A route to check the caller against, if the method has none. At Parse's paths without a POST
    /// all routes require the same.
    private var anyRoute: HTTPRoute? { routes[.put] ?? routes[.get] ?? routes.values.first }

    /// Answers a request. A method without a route is 405 with `Allow`.
    func respond(to request: Request, context: ConsoleContext) async -> Response {
        var parameters: [String: String] = [:]
        for (name, value) in context.parameters {
            parameters[String(name)] = PercentEncoding.decode(String(value))
        }
        if let part = context.part {
            await part.finish(at: self, request.uri, parameters)
            return Response(status: .ok)
        }
        let application = isParse ? door.frontend.info.applicationID : nil
        let call = Call(request, in: context, at: parameters, basicFor: application)
        return await answer(request, call).response
    }

    private func answer(_ request: Request, _ call: Call) async -> Answer {
        let own = route(for: request.method)
        if let own, let wait = load.refusal(of: own) { return .overloaded(retryAfter: wait) }
        var answer: Answer
        do throws(AuthorityError) {
            if isParse, request.method == .post {
                answer = try await answerPost(request, call, own)
            } else if let own {
                answer = try await self.answer(request, call, by: own)
            } else {
                answer = .noMethod(allowed: allowed)
            }
        } catch {
            answer = Answer(error)
        }
        // The logger joins equal lines into one line with a count.
        if let fault = answer.fault { logger?.error("a request failed: \(fault)") }
        guard let route = own ?? anyRoute else { return answer }
        if answer.isSessionOver, route.takesCookie, call.cookieBearer.isThere, call.isFromOwnPage {
            answer.headers[.setCookie] = call.cookie.forgetting
        }
        // Logs the route's pattern, not the request's path, which may hold ids and a query.
        call.context.logger.debug("request", metadata: [
            "route": "\(route.methodName) \(route.path)", "status": "\(answer.status.code)",
        ])
        return answer
    }

    /// Checks the caller before it reads any byte of the body.
    private func answer(
        _ request: Request, _ call: Call, by route: HTTPRoute
    ) async throws(AuthorityError) -> Answer {
        guard let handle = try await door.admit(call, to: route) else { return .unauthorized }
        switch await Body(of: request, by: call, limit: route.bodyLimit) {
        case .whole(let bytes):
            return try await load.measuring(handle, of: route)(call.with(body: bytes))
        case .refused(let answer): return answer
        }
    }

    /// Answers a POST to Parse's API. The body may name another method. If no header names the
    /// application, the body may also hold the credentials.
    ///
    /// If a header names the application, the caller is checked before the body is read. The caller
    /// is checked again if the body names another method.
    private func answerPost(
        _ request: Request, _ call: Call, _ own: HTTPRoute?
    ) async throws(AuthorityError) -> Answer {
        var handle: HTTPRoute.Handler?
        if call.applicationID != nil, let first = own ?? anyRoute {
            handle = try await door.admit(call, to: first)
            guard handle != nil else { return .unauthorized }
        }
        let bytes: [UInt8]
        switch await Body(of: request, by: call, limit: own?.bodyLimit ?? bodyLimit) {
        case .whole(let whole): bytes = whole
        case .refused(let answer): return answer
        }
        guard handle != nil || load.mayRead(bytes.count, from: call.origin) else {
            return .overloaded(retryAfter: BodyRateLimit.retryAfter)
        }
        guard let form = load.measuring({ BodyForm(bytes) }) else {
            // The body is not an object, so it names no credentials and no method.
            guard let handle else { return .unauthorized }
            guard let own else { return .noMethod(allowed: allowed) }
            return try await load.measuring(handle, of: own)(call.with(body: bytes))
        }
        guard handle == nil || !form.namesCredentials else { throw Credentials.twice }
        let route = form.route(at: self)
        var call = call.with(members: form.members)
        if let handle, let route, route.method == own?.method {
            return try await load.measuring(handle, of: route)(call)
        }
        if handle == nil { call = call.with(try call.credentials.with(form.control)) }
        guard let judged = route ?? anyRoute,
            let second = try await door.admit(call, to: judged)
        else { return .unauthorized }
        guard let route else { return .noMethod(allowed: allowed) }
        return try await load.measuring(second, of: route)(call)
    }
}

/// A request's body: all of it, or a refusal.
private enum Body: Sendable {
    case whole([UInt8])
    case refused(Answer)

    /// The time limit for a body. Without it a slow sender could hold its connection for ever.
    private static let patience = Duration.seconds(15)

    init(of request: Request, by call: Call, limit: Int) async {
        guard request.headers[.contentEncoding]?.lowercased() ?? "identity" == "identity" else {
            self = .refused(.compressed)
            return
        }
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
                Answer(.badRequest, Refusal(.invalidJSON, "the body is incomplete")))
        }
    }
}
