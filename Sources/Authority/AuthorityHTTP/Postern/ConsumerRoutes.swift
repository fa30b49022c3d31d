import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Consumers: the list, a new one, and the end of one.
struct ConsumerRoutes: Sendable {
    let frontend: any AuthorityFrontend

    /// Room for `ConsumerLimit.boards` and `ConsumerLimit.classes`.
    private static let body = 16 * 1024

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/consumers", .session(consumers)),
            HTTPRoute(.post, "/consumers", bodyLimit: Self.body, .session(add)),
            HTTPRoute(.delete, "/consumers/:name", .session(remove)),
        ]
    }

    private func consumers(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        .results(try await frontend.consumers(by: caller).map { .object($0.form) })
    }

    private func add(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let order = try reading { () throws(WireError) in try ConsumerOrder(json: json) }
        let made = try await frontend.addConsumer(order, by: caller)
        var answer = Answer(.created, made.form)
        answer.headers[.location] = "/postern/v1/consumers/\(made.consumer.name)"
        return answer
    }

    private func remove(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let name = try call.parameter("name", ConsumerName.init)
        return Answer(isBrokerTold: try await frontend.removeConsumer(name, by: caller))
    }
}

extension ConsumerOrder {
    /// `{"name", "boards"?: [iid], "classes"?: [text], "until"?: seconds since the epoch,
    /// "durationSeconds"?: n}`. At most one of the last two.
    fileprivate init(json: JSONObject) throws(WireError) {
        let until = try json.optional("until") {
            $0.asInteger.flatMap(Timestamp.init(seconds:))
        }
        let span = try json.optional("durationSeconds") { value in
            value.asInteger.flatMap { (1...Self.longest).contains($0) ? Duration.seconds($0) : nil }
        }
        guard until == nil || span == nil else { throw .mistyped("durationSeconds") }
        self.init(
            name: try json.parsed("name", ConsumerName.init),
            boards: try json.optional("boards") { $0.list(InstallationID.init) },
            classes: try json.optional("classes") { $0.list { ClassName($0) } },
            end: until.map(End.at) ?? span.map(End.after))
    }

    private static let longest = ConsumerLimit.life.components.seconds
}

extension JSONValue {
    /// Nil unless this is an array whose elements are all such texts.
    func list<T>(_ parse: (String) -> T?) -> [T]? {
        guard let values = asArray else { return nil }
        let parsed = values.compactMap { $0.asString.flatMap(parse) }
        return parsed.count == values.count ? parsed : nil
    }
}

extension Consumer {
    var form: [String: JSONValue] {
        [
            "name": .string(name.description), "clientId": .string(clientID),
            "boards": Self.list(boards), "classes": Self.list(classes),
            "createdAt": .time(createdAt), "until": .optionalTime(until),
            "boardsLeftOut": .integer(Int64(boardsLeftOut)),
            "connected": isConnected.map(JSONValue.bool) ?? .null,
        ]
    }

    private static func list<T: CustomStringConvertible>(_ all: [T]?) -> JSONValue {
        all.map { .array($0.map { .string($0.description) }) } ?? .null
    }
}

extension NewConsumer {
    /// Holds a password. Only the caller gets it, and nothing stores it on the way.
    fileprivate var form: [String: JSONValue] {
        var members = consumer.form.merging(login.form) { $1 }
        members["topics"] = members.removeValue(forKey: "filters")
        members["fingerprint"] = login.fingerprint.map(JSONValue.string) ?? .null
        return members
    }
}
