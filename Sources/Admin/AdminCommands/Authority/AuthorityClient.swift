import HTTPClient
import Sessions
import Wire

/// A client for an authority's HTTP API.
///
/// It follows no redirect, so that a token goes nowhere else. An answer has at most 8 MiB.
struct AuthorityClient: Sendable {
    let url: AuthorityURL
    var trust = AuthorityTrust()
    var applicationID: String?
    var token: SessionToken?
    /// The time limit of one exchange.
    var patience = Duration.seconds(30)

    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    private static let answerLimit = 8 * 1024 * 1024

    /// Sends a request to Postern's own API. It works with any Parse settings of the authority.
    func own(
        _ method: Method, _ path: String, _ body: [String: JSONValue]? = nil
    ) async throws(CommandFailure) -> JSONObject {
        try Self.read(try await answer(method, path, body))
    }

    /// Like `own`, with the answer unread.
    func answer(
        _ method: Method, _ path: String, _ body: [String: JSONValue]? = nil
    ) async throws(CommandFailure) -> HTTPAnswer {
        var request = try request(method.rawValue, "/postern/v1" + path)
        request.headers.append(("Accept", "application/json"))
        if let applicationID {
            request.headers.append(("X-Parse-Application-Id", applicationID))
        }
        if let token { request.headers.append(("X-Parse-Session-Token", token.reveal())) }
        if let body {
            request.headers.append(("Content-Type", "application/json"))
            request.body = JSONValue.object(body).bytes
        }
        return try await exchange(request)
    }

    static func read(_ answer: HTTPAnswer) throws(CommandFailure) -> JSONObject {
        try read(status: answer.status, answer.body, retryAfter: answer.header("Retry-After"))
    }

    /// Fetches any document at `path`, and returns the answer unread.
    func fetch(_ path: String) async throws(CommandFailure) -> HTTPAnswer {
        try await exchange(try request("GET", path))
    }

    private func exchange(_ request: HTTPRequest) async throws(CommandFailure) -> HTTPAnswer {
        do throws(HTTPFailure) {
            return try await request.answer()
        } catch {
            throw TransportFailure.sort(error, at: url)
        }
    }

    /// A request without application id and token.
    func request(_ method: String, _ path: String) throws(CommandFailure) -> HTTPRequest {
        var request = HTTPRequest(method, url.description + path)
        request.answerLimit = Self.answerLimit
        request.limit = patience
        if url.isEncrypted { request.trust = try trust.read() }
        return request
    }

    /// Sorts an answer by its status. Source: Parse REST guide, Response format.
    ///
    /// The authority's own text says how long to wait. For an answer of a proxy in front of it,
    /// `retryAfter` does.
    static func read(
        status: Int, _ bytes: [UInt8], retryAfter: String? = nil
    ) throws(CommandFailure) -> JSONObject {
        let wait = retryAfter.flatMap { UInt32($0) }.map { "; wait \($0) s, then try again" } ?? ""
        let json: JSONObject
        do throws(WireError) {
            // Allows many values, because a list of boards may be long.
            json = try JSONObject(parsing: bytes, limit: answerLimit, values: answerLimit)
        } catch {
            throw .failed(
                layer: "HTTP",
                text: "status \(status), and the answer is not an authority's\(wait)")
        }
        if (200..<300).contains(status) { return json }
        if status == 403, json.members["error"] == .string("unauthorized") {
            throw .failed(layer: "HTTP", text: "the authority has another application id; "
                + "log in again")
        }
        let refusal: Refusal
        do throws(WireError) {
            refusal = try Refusal(json: json)
        } catch {
            throw .failed(layer: "HTTP", text: "status \(status)\(wait)")
        }
        // The authority works, but cannot use its store now.
        if status == 503, json.members["name"] == .string("store-away") {
            throw .offline(layer: "authority", text: Printable.line(refusal.text))
        }
        if status >= 500 {
            throw .failed(layer: "authority", text: Printable.line(refusal.text))
        }
        throw .refused(refusal.named(json.members["name"]?.asString))
    }
}

extension Refusal {
    /// The same refusal with the name that the authority gives it.
    fileprivate func named(_ name: String?) -> Refusal {
        guard let name, let code = ErrorCode(rawValue: code) else { return self }
        var named = Refusal(code, text, name: Name(name))
        named.retryAfter = retryAfter
        return named
    }
}

/// Reads an answer's members. If the answer is not as agreed, the authority is at fault.
func decoding<T>(_ read: () throws(WireError) -> T) throws(CommandFailure) -> T {
    do {
        return try read()
    } catch {
        throw .failed(layer: "HTTP", text: "the authority's answer: \(error.refusal.text)")
    }
}

/// Reads each object of a query's answer with `read`.
func results<T>(
    in answer: JSONObject, _ read: (JSONObject) throws(WireError) -> T
) throws(CommandFailure) -> [T] {
    try decoding { () throws(WireError) in
        var all: [T] = []
        for value in try answer.required("results", { $0.asArray }) {
            guard let members = value.asObject else { throw .mistyped("results") }
            all.append(try read(JSONObject(members)))
        }
        return all
    }
}
