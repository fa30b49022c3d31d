import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Sessions
import Wire

/// An authority's HTTP, as a client of it.
///
/// It follows no redirect, so that a token goes nowhere else; an answer has at most 8 MiB.
struct AuthorityClient: Sendable {
    let url: AuthorityURL
    var trust = AuthorityTrust()
    var applicationID: String?
    var token: SessionToken?

    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    private static let answerLimit = 8 * 1024 * 1024

    /// Postern's own API, whatever Parse's may do at that authority.
    func own(
        _ method: Method, _ path: String, _ body: [String: JSONValue]? = nil
    ) async throws(CommandFailure) -> JSONObject {
        try await send(method, "/postern/v1" + path, body)
    }

    private func send(
        _ method: Method, _ path: String, _ body: [String: JSONValue]?
    ) async throws(CommandFailure) -> JSONObject {
        var request = HTTPClientRequest(url: url.description + path)
        request.method = HTTPMethod(rawValue: method.rawValue)
        request.headers.add(name: "Accept", value: "application/json")
        if let applicationID {
            request.headers.add(name: "X-Parse-Application-Id", value: applicationID)
        }
        if let token {
            request.headers.add(name: "X-Parse-Session-Token", value: token.reveal())
        }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: JSONValue.object(body).bytes))
        }
        let (status, bytes) = try await exchange(request)
        return try Self.read(status: status, bytes)
    }

    /// What stands there as it is, whatever it is.
    func fetch(_ path: String) async throws(CommandFailure) -> (status: UInt, bytes: [UInt8]) {
        try await exchange(HTTPClientRequest(url: url.description + path))
    }

    private func exchange(
        _ request: HTTPClientRequest
    ) async throws(CommandFailure) -> (status: UInt, bytes: [UInt8]) {
        do {
            return try await HTTPClient.withHTTPClient(configuration: configuration()) { client in
                let response = try await client.execute(request, timeout: .seconds(30))
                let body = try await response.body.collect(upTo: Self.answerLimit)
                return (response.status.code, Array(buffer: body))
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw TransportFailure.sort(error, at: url)
        }
    }

    func configuration() throws(CommandFailure) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        if url.isEncrypted { configuration.tlsConfiguration = try trust.configuration() }
        return configuration
    }

    /// Sorts an answer by its status. Source: Parse REST guide, Response format.
    static func read(status: UInt, _ bytes: [UInt8]) throws(CommandFailure) -> JSONObject {
        let json: JSONObject
        do throws(WireError) {
            json = try JSONObject(parsing: bytes, limit: answerLimit)
        } catch {
            throw .failed(layer: "HTTP", text: "status \(status), and not an authority's answer")
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
            throw .failed(layer: "HTTP", text: "status \(status)")
        }
        // Everything is well but that it cannot be asked now.
        if status == 503, json.members["name"] == .string("store-away") {
            throw .offline(layer: "authority", text: Printable.line(refusal.text))
        }
        if status >= 500 {
            throw .failed(layer: "authority", text: Printable.line(refusal.text))
        }
        throw .refused(refusal)
    }
}

/// Reads an answer's members; one that is not as agreed is the other side's fault.
func decoding<T>(_ read: () throws(WireError) -> T) throws(CommandFailure) -> T {
    do {
        return try read()
    } catch {
        throw .failed(layer: "HTTP", text: "the authority's answer: \(error.refusal.text)")
    }
}

/// Reads the objects of a query's answer, each with `read`.
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
