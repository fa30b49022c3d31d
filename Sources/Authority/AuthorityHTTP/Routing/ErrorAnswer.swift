import AuthorityCore
import Hummingbird
import Sessions
import Wire

extension Answer {
    /// An error in Parse's form. As Parse server has it, 101 is 404 and any other refusal 400;
    /// 155 is 429, as the hosted Parse had it. A part that failed is 503 and names its layer; of
    /// the store a stranger hears no more than that it is away, and the log the rest.
    ///
    /// Source: Parse REST guide, Error codes; RFC 6585 §4.
    init(_ error: AuthorityError) {
        switch error {
        case .refused(let refusal) where refusal.name == .overloaded:
            self = .overloaded(retryAfter: refusal.retryAfter ?? PasswordTurns.retryAfter)
        case .refused(let refusal): self.init(refusal)
        case .failed(let layer, let text) where layer.hasPrefix("store"):
            self = .storeAway
            fault = "\(layer): \(text)"
        case .failed(let layer, let text):
            self.init(
                .serviceUnavailable, ["code": .integer(1), "error": .string("\(layer): \(text)")])
        }
    }

    /// Nothing is said of where the store is and what was asked of it.
    static let storeAway = Answer(.serviceUnavailable, [
        "code": .integer(1), "error": .string("store: the store is away; try again later"),
        "name": .string(Refusal.Name.storeAway.description),
    ])

    init(_ refusal: Refusal) {
        let status: HTTPResponse.Status =
            switch ErrorCode(rawValue: refusal.code) {
            case .notFound: .notFound
            case .rateLimit: .tooManyRequests
            default: .badRequest
            }
        self.init(status, refusal)
    }

    init(_ status: HTTPResponse.Status, _ refusal: Refusal) {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(refusal.code)), "error": .string(refusal.text),
        ]
        members["name"] = refusal.name.map { .string($0.description) }
        self.init(status, members)
    }

    /// Whether it says 209.
    var isSessionOver: Bool { says(.invalidSession) }

    /// Whether it says 119.
    var isForbidden: Bool { status != .ok && says(.forbidden) }

    private func says(_ code: ErrorCode) -> Bool {
        guard case .json(let value) = content else { return false }
        return value.asObject?["code"]?.asInteger == Int64(code.rawValue)
    }

    /// A request that names another application, or none. Source: Parse server's own answer.
    static let unauthorized = Answer(.forbidden, ["error": .string("unauthorized")])

    static let noRoute = Answer(.notFound, Refusal(.notFound, "there is no such route"))

    static func noMethod(allowed: [HTTPRequest.Method]) -> Answer {
        var answer = Answer(
            .methodNotAllowed, Refusal(.forbidden, "this route does not take that method"))
        answer.headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
        return answer
    }

    static func tooLarge(limit: Int) -> Answer {
        Answer(.contentTooLarge, Refusal(.tooLarge, "the body has more than \(limit) bytes"))
    }
}
