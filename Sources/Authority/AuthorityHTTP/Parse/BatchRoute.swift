import AuthorityCore
import Hummingbird
import HummingbirdCore
import Sessions
import Wire

/// Up to 50 requests in one: each finds its route and is judged there as if it came alone,
/// one after the other; the credentials of the batch are those of each.
///
/// None of them is a batch, names another method, or says by itself who asks.
///
/// Source: Parse REST guide, Batch operations.
struct BatchRoute: Sendable {
    /// All of Parse's routes but this.
    let requests: RouteMatcher
    let door: Doorkeeper
    let load: ConsoleLoad

    private static let limit = 50

    /// Fifty small requests. It is read before anybody is known to ask.
    private static let bodyLimit = 64 * 1024

    var routes: [Route] {
        [
            Route(.post, "/batch", bodyLimit: Self.bodyLimit, .sessionOrNone(answer))
                .parse(under: door.rules.mount)
        ]
    }

    /// Nothing is done unless all of it can be read.
    private func answer(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        guard json.members["transaction"] ?? .bool(false) == .bool(false) else {
            throw .refused(Refusal(.forbidden, "a batch is no transaction here"))
        }
        let sent = try reading { () throws(WireError) in
            try json.required("requests") { $0.asArray }
        }
        guard sent.count <= Self.limit else {
            throw .refused(Refusal(.tooLarge, "a batch has at most \(Self.limit) requests"))
        }
        var pending: [Pending] = []
        for value in sent {
            pending.append(try reading { () throws(WireError) in try Pending(json: value) })
        }
        var results: [JSONValue] = []
        var fault: String?
        for request in pending {
            let answer = await self.answer(whateverBecomesOf: request, in: call)
            fault = fault ?? answer.fault
            results.append(Self.result(answer))
        }
        var answer = Answer(list: results)
        answer.fault = fault
        return answer
    }

    private struct Pending {
        let method: String
        let uri: URI
        let body: JSONObject?

        init(json: JSONValue) throws(WireError) {
            guard let members = json.asObject else { throw .mistyped("requests") }
            let json = JSONObject(members)
            method = try json.string("method")
            uri = URI(try json.string("path"))
            body = try json.optional("body") { $0.asObject.map(JSONObject.init) }
        }
    }

    private func answer(whateverBecomesOf request: Pending, in batch: Call) async -> Answer {
        do throws(AuthorityError) {
            return try await answer(request, in: batch)
        } catch {
            return Answer(error)
        }
    }

    /// `{"success": …}` or `{"error": {"code", "error"}}`.
    private static func result(_ answer: Answer) -> JSONValue {
        guard case .json(let value) = answer.content else { return .object(["success": .null]) }
        if answer.status.kind == .successful { return .object(["success": value]) }
        var error = value.asObject ?? [:]
        error["code"] = error["code"] ?? .integer(Int64(ErrorCode.forbidden.rawValue))
        return .object(["error": .object(error)])
    }

    private func answer(
        _ request: Pending, in batch: Call
    ) async throws(AuthorityError) -> Answer {
        guard let place = requests.place(of: request.uri.path) else { return .noRoute }
        let methods = place.routes.values.first { $0.method.rawValue == request.method }
        guard let route = methods else { return .noMethod(allowed: place.allowed) }
        let names = request.body?.members.keys.contains(where: BodyForm.isControl) ?? false
        guard !names else {
            throw .refused(
                Refusal(.forbidden, "a request of a batch says no method and no credentials"))
        }
        let size = request.body.map { JSONValue.object($0.members).bytes.count } ?? 0
        guard size <= route.bodyLimit else { return .tooLarge(limit: route.bodyLimit) }
        let call = Call(of: batch, to: request.uri, at: place.parameters, request.body)
        guard let handle = try await door.admit(call, to: route) else { return .unauthorized }
        return try await load.inTurn(handle, of: route)(call)
    }
}
