import AuthorityCore
import Hummingbird
import HummingbirdCore
import NIOCore
import Sessions
import Synchronization
import Wire

/// Runs up to 50 requests that arrive in one, one after the other. Each finds its route and is
/// checked there as a single request would be. All use the credentials of the batch.
///
/// A request of a batch is not a batch itself, names no other method, and has no credentials of its
/// own.
///
/// Source: Parse REST guide, Batch operations.
struct BatchRoute: Sendable {
    /// All of Parse's routes except this one.
    let requests: ResourceRouter
    let mount: String

    private static let limit = 50
    /// The size of all answers after which no further request of the batch runs.
    private static let byteLimit = 8 << 20

    /// Room for fifty small requests. The body is read before the caller is known.
    private static let bodyLimit = 64 * 1024

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/batch", bodyLimit: Self.bodyLimit, .sessionOrNone(answer))
                .parse(under: mount)
        ]
    }

    /// Runs nothing unless every request of the batch can be parsed.
    private func answer(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        guard json.members["transaction"] ?? .bool(false) == .bool(false) else {
            throw .refused(Refusal(.forbidden, "transactions are not supported in a batch"))
        }
        let sent = try reading { () throws(WireError) in
            try json.required("requests") { $0.asArray }
        }
        guard sent.count <= Self.limit else {
            throw .refused(Refusal(.tooLarge, "a batch has at most \(Self.limit) requests"))
        }
        var parts: [BatchPart] = []
        for (place, value) in sent.enumerated() {
            parts.append(try reading { () throws(WireError) in
                try BatchPart(json: value, at: place, of: call)
            })
        }
        var results: [JSONValue] = []
        var fault: String?
        var bytes = 0
        for part in parts {
            let answer = bytes < Self.byteLimit ? await self.answer(part) : .tooMuch
            fault = fault ?? answer.fault
            results.append(Self.result(answer))
            // Queries of data may have large answers, and all are in memory.
            bytes += results.last?.bytes.count ?? 0
        }
        var answer = Answer(list: results)
        answer.fault = fault
        return answer
    }

    private func answer(_ part: BatchPart) async -> Answer {
        var context = part.batch.context
        context.part = part
        let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: part.target)
        do {
            _ = try await requests.respond(
                to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
                context: context)
        } catch {
            return Answer(.failed(layer: "HTTP", text: "\(error)"))
        }
        return part.answer ?? .noRoute
    }

    /// `{"success": …}` or `{"error": {"code", "error"}}`.
    private static func result(_ answer: Answer) -> JSONValue {
        guard case .json(let value) = answer.content else { return .object(["success": .null]) }
        if answer.status.kind == .successful { return .object(["success": value]) }
        var error = value.asObject ?? [:]
        error["code"] = error["code"] ?? .integer(Int64(ErrorCode.forbidden.rawValue))
        return .object(["error": .object(error)])
    }
}

/// One request of a batch. The router brings it to its resource, which stores the answer here.
final class BatchPart: Sendable {
    let batch: Call
    private let place: Int
    /// Path and query.
    let target: String
    private let method: String
    private let body: JSONObject?
    private let kept = Mutex<Answer?>(nil)

    /// Nil if there is no such path.
    var answer: Answer? { kept.withLock { $0 } }

    init(json: JSONValue, at place: Int, of batch: Call) throws(WireError) {
        guard let members = json.asObject else { throw .mistyped("requests") }
        let json = JSONObject(members)
        method = try json.string("method")
        target = try json.string("path")
        body = try json.optional("body") { $0.asObject.map(JSONObject.init) }
        self.batch = batch
        self.place = place
    }

    func finish(at resource: Resource, _ uri: URI, _ parameters: [String: String]) async {
        let answer: Answer
        do throws(AuthorityError) {
            answer = try await judge(at: resource, uri, parameters)
        } catch {
            answer = Answer(error)
        }
        kept.withLock { $0 = answer }
    }

    private func judge(
        at resource: Resource, _ uri: URI, _ parameters: [String: String]
    ) async throws(AuthorityError) -> Answer {
        guard let route = resource.routes.values.first(where: { $0.methodName == method }) else {
            return .noMethod(allowed: resource.allowed)
        }
        let names = body?.members.keys.contains(where: BodyForm.isControl) ?? false
        guard !names else {
            throw .refused(
                Refusal(.forbidden, "a request in a batch cannot carry _method or credentials"))
        }
        let size = body.map { JSONValue.object($0.members).bytes.count } ?? 0
        guard size <= route.bodyLimit else { return .tooLarge(limit: route.bodyLimit) }
        let call = Call(of: batch, part: place, to: uri, at: parameters, body)
        guard let handle = try await resource.door.admit(call, to: route) else {
            return .unauthorized
        }
        return try await resource.load.inTurn(handle, of: route)(call)
    }
}
