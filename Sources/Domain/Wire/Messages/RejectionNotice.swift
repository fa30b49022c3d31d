package import Sessions

/// The reason for a refused write, as its app receives it.
package struct RejectionNotice: Equatable, Sendable {
    package let code: Int
    package let error: String
    /// The deciding rule, such as `builtin:protected-class` or `policy.toml:14`.
    package let rule: String
    package let className: String
    package let operation: String
    package let topic: String
    /// The payload field that caused the refusal, if one did.
    package let field: String?
    /// With code 209: whether only a new provisioning helps. False: a retry may help.
    package let isFinal: Bool?

    /// Cuts the topic to 512 bytes and the field to 256 bytes, so that no notice is longer than one
    /// for a well-formed write.
    package init(
        code: Int, error: String, rule: String, className: String, operation: String,
        topic: String, field: String? = nil, isFinal: Bool? = nil
    ) {
        self.code = code
        self.error = error
        self.rule = rule
        self.className = className
        self.operation = operation
        self.topic = topic.cut(to: 512)
        self.field = field?.cut(to: 256)
        self.isFinal = isFinal
    }

    /// `id` distinguishes two rejections with the same text.
    package func payload(id: MessageID) -> [UInt8] { JSONValue.object(members(id)).bytes }

    /// The summary of `count` refusals that were not reported one by one. This is the last one.
    package func payload(id: MessageID, count: Int64) -> [UInt8] {
        var members = members(id)
        members["count"] = .integer(count)
        members["error"] = .string(
            "\(count) more refused within a second and not told singly; the last: \(error)")
        return JSONValue.object(members).bytes
    }

    private func members(_ id: MessageID) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(code)), "error": .string(error), "rule": .string(rule),
            "class": .string(className), "op": .string(operation), "topic": .string(topic),
            "id": .string(id.description),
        ]
        if operation == "get" { members["kind"] = .string(BusAnswer.errorKind) }
        members["field"] = field.map(JSONValue.string)
        members["final"] = isFinal.map(JSONValue.bool)
        return members
    }
}

/// The number of writes of one app that one rule refused.
package struct RefusalCount: Equatable, Sendable {
    /// Means an app without a name, or all that have no entry of their own.
    package static let any = "*"

    package let app: String
    package let rule: String
    package let count: Int64

    package init(app: String, rule: String, count: Int64) {
        self.app = app
        self.rule = rule
        self.count = count
    }

    package init(json: JSONObject) throws(WireError) {
        app = try json.string("app")
        rule = try json.string("rule")
        count = try json.integer("count")
    }

    package var json: JSONValue {
        .object(["app": .string(app), "rule": .string(rule), "count": .integer(count)])
    }
}

extension StringProtocol {
    /// The first `limit` bytes. If the cut divides a character, the part is replaced.
    func cut(to limit: Int) -> String {
        utf8.count <= limit ? String(self) : String(decoding: utf8.prefix(limit), as: UTF8.self)
    }
}
