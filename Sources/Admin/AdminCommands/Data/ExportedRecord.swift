import Sessions
import Wire

/// One record of a board, as the authority keeps it.
struct ExportedRecord: Sendable {
    let sequence: Int64
    let written: Timestamp
    let received: Timestamp
    let isLate: Bool
    let app: String
    let className: String
    let operation: String
    let object: String
    /// Text, or base64url if it is not text.
    let payload: String
    let isBase64: Bool

    init(json: JSONObject) throws(WireError) {
        sequence = try json.integer("seq")
        written = Timestamp(milliseconds: try json.integer("ts"))
        received = Timestamp(milliseconds: try json.integer("receivedAt"))
        isLate = try json.optional("late") { $0.asBool } ?? false
        app = try json.string("app")
        className = try json.string("class")
        operation = try json.string("op")
        object = try json.optional("objectId") { $0.asString } ?? ""
        let text = try json.optional("payload") { $0.asString }
        isBase64 = text == nil
        payload = if let text { text } else { try json.string("payloadBase64") }
    }

    /// The payload as JSON; nil if it is none.
    private var content: JSONValue? {
        isBase64 ? nil : try? JSONValue(parsing: Array(payload.utf8), limit: payload.utf8.count)
    }

    /// One line of JSON. A payload that is not JSON is in `payload` or `payloadBase64`.
    func line(of board: InstallationID) -> String {
        var members: [String: JSONValue] = [
            "iid": .string(board.description), "seq": .integer(sequence),
            "ts": .integer(written.milliseconds), "receivedAt": .integer(received.milliseconds),
            "late": .bool(isLate), "app": .string(app), "class": .string(className),
            "op": .string(operation), "objectId": .string(object),
        ]
        if let content {
            members["data"] = content
        } else {
            members[isBase64 ? "payloadBase64" : "payload"] = .string(payload)
        }
        return JSONValue.object(members).text
    }

    static let columns = [
        "time", "receivedAt", "late", "seq", "app", "class", "op", "objectId",
    ]

    /// The cells of a row: `columns`, then the fields, then the payload if the fields do not show
    /// all of it.
    func cells(_ fields: [String]) -> [String] {
        let content = content
        let isObject = content?.asObject != nil
        let values = fields.map { field in
            isObject ? Self.text(content?.member(field)) : field == "value" ? payload : ""
        }
        let isWhole = isObject ? Self.leaves(of: content).allSatisfy(Set(fields).contains)
            : fields.contains("value")
        return [
            ParseDate.print(written), ParseDate.print(received), isLate ? "true" : "false",
            "\(sequence)", app, className, operation, object,
        ] + values + [isWhole ? "" : payload]
    }

    /// The paths of the members that are no object.
    private static func leaves(of value: JSONValue?, _ path: String = "") -> [String] {
        guard let members = value?.asObject else { return [path] }
        return members.flatMap { name, member in
            leaves(of: member, path.isEmpty ? name : "\(path).\(name)")
        }
    }

    private static func text(_ value: JSONValue?) -> String {
        switch value {
        case nil, .null: ""
        case .string(let text): text
        case let value?: value.text
        }
    }
}

extension JSONValue {
    /// The member at a path such as `room.celsius`.
    fileprivate func member(_ path: String) -> JSONValue? {
        var value: JSONValue? = self
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            value = value?.asObject?[String(name)]
        }
        return value
    }
}
