import AuthorityCore
import Hummingbird
import Sessions
import Wire

extension Answer {
    /// An error in Parse's form. As in Parse server, 101 is 404, and other refusals are 400. 155 is
    /// 429, as in the hosted Parse. A refusal for overload is 503. Each 429 and 503 has
    /// `Retry-After`, and its text has the same number of seconds.
    ///
    /// A part that failed is 503, and the text names its layer. If the store failed, the client
    /// only learns that the store is away, or that its disk is full; the log has the details.
    ///
    /// Source: Parse REST guide, Error codes; RFC 6585 §4.
    init(_ error: AuthorityError) {
        switch error {
        case .refused(let refusal) where refusal.name == .overloaded:
            self = .overloaded(retryAfter: refusal.retryAfter ?? PasswordHashLimit.retryAfter)
        case .refused(let refusal): self.init(refusal)
        case .failed(let layer, let text) where error.isDiskFull:
            self.init(
                unavailable: "the authority's disk is full, and somebody must make room there",
                name: .storeFull)
            fault = "\(layer): \(text)"
        case .failed(let layer, let text) where layer.hasPrefix("store"):
            self = .storeAway
            fault = "\(layer): \(text)"
        case .failed(let layer, let text):
            self.init(unavailable: "\(layer): \(text)")
        }
    }

    /// For a part that failed.
    private init(unavailable text: String, name: Refusal.Name? = nil) {
        let seconds = Self.repair.components.seconds
        var members: [String: JSONValue] = [
            "code": .integer(1), "error": .string("\(text); wait \(seconds) s, then try again"),
        ]
        members["name"] = name.map { .string($0.description) }
        self.init(.serviceUnavailable, members)
    }

    /// When to ask again after a part has failed: parts are tried again every few seconds.
    static let repair = Duration.seconds(10)

    /// Does not show where the store is or what was asked of it.
    static let storeAway = Answer(
        unavailable: "store: the store is not available", name: .storeAway)

    init(_ refusal: Refusal) {
        let status: HTTPResponse.Status =
            switch ErrorCode(rawValue: refusal.code) {
            case .notFound: .notFound
            case .rateLimit: .tooManyRequests
            default: .badRequest
            }
        self.init(status, refusal)
        if status == .tooManyRequests {
            headers[.retryAfter] = "\((refusal.retryAfter ?? Self.repair).components.seconds)"
        }
    }

    init(_ status: HTTPResponse.Status, _ refusal: Refusal) {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(refusal.code)), "error": .string(refusal.text),
        ]
        members["name"] = refusal.name.map { .string($0.description) }
        self.init(status, members)
    }

    /// Whether the error code is 209: the session is invalid.
    var isSessionOver: Bool { says(.invalidSession) }

    /// Whether the error code is 119: forbidden.
    var isForbidden: Bool { status != .ok && says(.forbidden) }

    private func says(_ code: ErrorCode) -> Bool {
        guard case .json(let value) = content else { return false }
        return value.asObject?["code"]?.asInteger == Int64(code.rawValue)
    }

    /// For a request with no application id, another application's id, or a wrong key.
    /// Source: Parse server's own answer.
    static let unauthorized = Answer(.forbidden, ["error": .string("unauthorized")])

    static let noRoute = Answer(.notFound, Refusal(.notFound, "this route does not exist"))
    /// For a request of a batch whose answers are too large already.
    static let tooMuch = Answer(
        .contentTooLarge, Refusal(.tooLarge, "the answers of this batch have more than 8 MiB"))

    static func noMethod(allowed: [HTTPRequest.Method]) -> Answer {
        var answer = Answer(
            .methodNotAllowed, Refusal(.forbidden, "this route does not take that method"))
        answer.headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
        return answer
    }

    /// Nothing is inflated, because a few bytes may become many. Source: RFC 9110 §15.5.16.
    static let compressed = Answer(
        .unsupportedMediaType,
        Refusal(.invalidJSON, "the body is compressed; send it without Content-Encoding"))

    static func tooLarge(limit: Int) -> Answer {
        Answer(.contentTooLarge, Refusal(.tooLarge, "the body has more than \(limit) bytes"))
    }
}
