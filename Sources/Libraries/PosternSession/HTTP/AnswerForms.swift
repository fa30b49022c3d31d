import Foundation

/// `{"code", "error", "name"}`, as the authority refuses.
private struct RefusalForm: Decodable {
    var code: Int?
    var error: String?
    var name: String?
}

/// `{"results": […]}`. A result that this library cannot read fails the whole list.
struct Results<Form: Decodable>: Decodable {
    let results: [Form]
}

/// An answer of which nothing is needed.
struct NothingNeeded: Decodable {}

/// `GET /postern/v1/info`.
struct AuthorityForm: Codable, Sendable {
    let applicationId: String
    let parsePath: String
}

/// `GET /postern/v1/me`.
struct CallerForm: Decodable {
    let user: AccountUser
    let session: SessionDetails
}

/// A user with the token of the new session.
struct LoggedInForm: Decodable {
    let sessionToken: String
}

extension SessionError {
    /// The error of an answer that is not a success.
    init(status: Int, body: Data) {
        let form = try? JSONDecoder().decode(RefusalForm.self, from: body)
        self = .refused(AuthorityRefusal(
            status: status, code: form?.code ?? 0,
            text: form?.error ?? "it answers with status \(status)", name: form?.name))
    }

    /// Whether the authority said that the session is over.
    var isSessionOver: Bool {
        if case .refused(let refusal) = self { refusal.code == 209 } else { false }
    }
}

extension JSONDecoder {
    /// The value of an answer. An error names the member, never a value.
    func read<Form: Decodable>(_ form: Form.Type, _ body: Data) throws(SessionError) -> Form {
        do {
            return try decode(form, from: body.isEmpty ? Data("{}".utf8) : body)
        } catch let error as DecodingError {
            throw .malformedAnswer(error.place)
        } catch {
            throw .malformedAnswer("it is not JSON")
        }
    }
}

extension DecodingError {
    fileprivate var place: String {
        switch self {
        case .keyNotFound(let key, let context):
            "\(context.words)\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(context.words)has another type"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "\(context.words)is malformed"
        default: "it is not JSON"
        }
    }
}

extension DecodingError.Context {
    fileprivate var words: String {
        codingPath.isEmpty ? "" : codingPath.map(\.stringValue).joined(separator: ".") + " "
    }
}
