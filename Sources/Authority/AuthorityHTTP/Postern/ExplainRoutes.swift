import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Explains whether a write may leave a board, and which rule decides.
struct ExplainRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(
                .post, "/boards/:iid/explain", bodyLimit: Self.bodyLimit, .session(explain))
        ]
    }

    /// The payload is a JSON string, in which each byte may take six.
    private static let bodyLimit = 6 * ExplainOrder.payloadLimit + HTTPRoute.smallBody

    private func explain(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let order = try ExplainOrder(board: board, json: try reading { () throws(WireError) in
            try JSONObject(parsing: call.body, limit: Self.bodyLimit)
        })
        return Answer(try await frontend.explain(order, by: caller).form)
    }
}

extension ExplainOrder {
    /// `{"app", "op", "class", "objectId"?, "payload"?}`. A name that cannot be in a topic is
    /// refused with the same error code as on the board's bus.
    init(board: InstallationID, json: JSONObject) throws(AuthorityError) {
        let texts = try reading { () throws(WireError) in
            (app: try json.string("app"), operation: try json.string("op"),
             className: try json.string("class"),
             record: try json.optional("objectId") { $0.asString },
             payload: try json.optional("payload") { $0.asString } ?? "")
        }
        guard let app = AppName(texts.app) else {
            throw .refused(Refusal(.badKeyName, "an app's name has at most 32 of a-z, 0-9 and -"))
        }
        guard let operation = Operation(rawValue: texts.operation) else {
            throw .refused(Refusal(.validation, "op must be create, update or delete"))
        }
        guard let className = ClassName(texts.className) else {
            throw .refused(Refusal(.badClassName, "this is not a valid class name"))
        }
        let record = texts.record.map { RecordID($0) }
        if case .some(nil) = record {
            throw .refused(Refusal(.badKeyName, "this is not a valid object id"))
        }
        guard operation != .create || record == nil else {
            throw .refused(Refusal(.validation, "a new object has no objectId yet"))
        }
        let payload = Array(texts.payload.utf8)
        guard payload.count <= Self.payloadLimit else {
            throw .refused(Refusal(
                .tooLarge, "a payload to explain has at most \(Self.payloadLimit) bytes"))
        }
        self.init(
            board: board,
            write: NamedWrite(
                app: app, className: className, operation: operation, record: record ?? nil),
            payload: payload)
    }
}

extension Explanation {
    /// `complete` is false if the board's own rules are not known; they may still refuse the write.
    var form: [String: JSONValue] {
        decision.form(reason).merging([
            "code": decision.code.map { .integer(Int64($0.rawValue)) } ?? .null,
            "field": .optional(decision.field), "complete": .bool(knowsPolicy),
            "by": .array(verdicts.map { .object($0.form) }),
        ]) { $1 }
    }
}

extension Explanation.Verdict {
    /// `decision` and `rule` are null if the layer does not exist or is not known.
    fileprivate var form: [String: JSONValue] {
        let members: [String: JSONValue] = decision?.form(reason) ?? [
            "decision": .null, "rule": .null, "reason": .string(reason),
        ]
        return members.merging(["layer": .string(layer.rawValue)]) { $1 }
    }
}

extension Decision {
    fileprivate func form(_ reason: String) -> [String: JSONValue] {
        let (word, rule) = switch self {
        case .allow(let rule): ("allow", rule)
        case .deny(let rejection): ("deny", rejection.rule)
        }
        return [
            "decision": .string(word), "rule": .string(rule.description),
            "reason": .string(reason),
        ]
    }

    fileprivate var code: ErrorCode? {
        if case .deny(let rejection) = self { rejection.code } else { nil }
    }

    fileprivate var field: String? {
        if case .deny(let rejection) = self { rejection.field } else { nil }
    }
}

extension Board {
    /// The members that the route of a single board adds to `form`: its rules and its refusals.
    ///
    /// `policy` is null in three cases. The board has no policy file, the board could not send it
    /// (`policyOmitted` is true), or has not sent it yet (`policyKnown` is false).
    var rulesForm: [String: JSONValue] {
        [
            "scope": scope?.json ?? .null, "policy": document?.json ?? .null,
            "policyKnown": .bool(report?.rules != nil),
            "policyOmitted": .bool(report?.rules == .omitted),
            "units": report?.units.json ?? .object([:]),
            "refusals": .array((report?.refusals ?? []).map(\.json)),
            "queueBytes": report.map { .integer($0.queue.bytes) } ?? .null,
            "queueOldest": .optionalTime(report?.queue.oldest),
            "reportedAt": .optionalTime(reportedAt),
            "identityShared": .bool(report?.isShared == true),
        ]
    }

    private var document: PolicyDocument? {
        if case .file(let document)? = report?.rules { document } else { nil }
    }
}
