package import Sessions

/// Why a write was refused, as its app is told.
package struct RejectionNotice: Equatable, Sendable {
    package let code: Int
    package let error: String
    /// The deciding rule, such as `builtin:protected-class` or `policy.toml:14`.
    package let rule: String
    package let className: String
    package let operation: String
    package let topic: String
    /// The offending field of the payload, where one decided.
    package let field: String?
    /// Beside code 209, whether only a provisioning helps; false: trying again may.
    package let isFinal: Bool?

    /// A topic is cut to 512 bytes and a field to 256: what is sent back is no longer than
    /// what any well-formed write has.
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

    /// `id` makes two rejections of one text tell apart.
    package func payload(id: MessageID) -> [UInt8] { JSONValue.object(members(id)).bytes }

    /// The summary of `count` refusals that were not told singly, this one the last of them.
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
        members["field"] = field.map(JSONValue.string)
        members["final"] = isFinal.map(JSONValue.bool)
        return members
    }
}

/// How many writes of one app one rule has refused.
package struct RefusalCount: Equatable, Sendable {
    /// Stands for an app without a name, and for all that have no entry of their own.
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
    /// Its first `limit` bytes; a character that the cut runs through is replaced.
    func cut(to limit: Int) -> String {
        utf8.count <= limit ? String(self) : String(decoding: utf8.prefix(limit), as: UTF8.self)
    }
}
