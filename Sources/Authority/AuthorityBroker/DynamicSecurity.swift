import AuthorityCore
package import Sessions
import Wire

/// The commands of mosquitto's dynamic security plugin that an authority uses, as JSON.
///
/// Source: mosquitto 2.0.11, `plugins/dynamic-security/README.md`.
package enum DynamicSecurity {
    package static let requestTopic = "$CONTROL/dynamic-security/v1"
    package static let responseTopic = "$CONTROL/dynamic-security/v1/response"

    package struct Command: Sendable {
        package let name: String
        let members: [String: JSONValue]

        package func json(correlation: String) -> JSONValue {
            var members = members
            members["command"] = .string(name)
            members["correlationData"] = .string(correlation)
            return .object(members)
        }
    }

    /// The answer to one command: its data, or the plugin's error.
    package struct Response: Sendable {
        package let error: String?
        let data: JSONValue?
    }

    package static func payload(_ commands: [JSONValue]) -> [UInt8] {
        JSONValue.object(["commands": .array(commands)]).bytes
    }

    /// The answers in a payload by their correlation, including those to other clients' commands.
    package static func responses(in payload: [UInt8]) -> [String: Response] {
        let json: JSONObject
        do throws(WireError) {
            json = try JSONObject(parsing: payload, limit: 64 << 20, values: 8 << 20)
        } catch {
            return [:]
        }
        let all = json.members["responses"]?.asArray ?? []
        var responses: [String: Response] = [:]
        for members in all.compactMap(\.asObject) {
            guard let correlation = members["correlationData"]?.asString else { continue }
            responses[correlation] = Response(
                error: members["error"]?.asString, data: members["data"])
        }
        return responses
    }

    package static let clientExists = "Client already exists"
    static let clientMissing = "Client not found"
    package static let roleExists = "Role already exists"
    static let roleMissing = ["Role does not exist", "Role not found"]
}

extension BrokerRole {
    /// The role's entries in the plugin's form. Access without an entry is refused.
    var json: JSONValue {
        .array(entries.map { entry in
            .object([
                "acltype": .string(entry.kind.rawValue), "topic": .string(entry.topic),
                "priority": .integer(0), "allow": .bool(true),
            ])
        })
    }

    /// The authority's own role, at a broker whose plugin it commands.
    init(dynamicSecurityUnder root: TopicRoot, discovery: TopicRoot) {
        let own = BrokerRole(authorityUnder: root, discovery: discovery)
        let response = DynamicSecurity.responseTopic
        self.init(
            name: own.name,
            entries: own.entries + [
                Entry(.subscribeLiteral, response),
                Entry(.receive, response),
                Entry(.send, DynamicSecurity.requestTopic),
            ])
    }
}

extension BrokerAccount {
    /// Creates the role and the client. If they exist, it brings the role up to date. Send all
    /// commands: the errors "exists" are expected.
    package var creation: [DynamicSecurity.Command] {
        var client: [String: JSONValue] = [
            "username": .string(username), "password": password.json,
            "roles": .array([.object(["rolename": .string(role.name)])]),
        ]
        client["clientid"] = clientID.map(JSONValue.string)
        client["textdescription"] = owner.map(JSONValue.string)
        return [
            .init(name: "createRole", members: ["rolename": .string(role.name)]),
            adjustment,
            .init(name: "createClient", members: client),
        ]
    }

    /// Sets the role's entries. No connection is cut; the broker applies them from the next packet
    /// on.
    var adjustment: DynamicSecurity.Command {
        .init(
            name: "modifyRole", members: ["rolename": .string(role.name), "acls": role.json])
    }

    var inquiry: DynamicSecurity.Command {
        .init(name: "getClient", members: ["username": .string(username)])
    }

    /// Whether the client in an answer to `inquiry` has the account's client id and mark.
    func isBound(in answer: DynamicSecurity.Response?) -> Bool {
        let client = answer?.data?.asObject?["client"]?.asObject
        return client?["clientid"]?.asString == clientID
            && client?["textdescription"]?.asString == owner
    }

    /// Sets a client's client id and mark, and cuts its connection.
    var binding: DynamicSecurity.Command {
        .init(
            name: "modifyClient",
            members: [
                "username": .string(username), "clientid": .string(clientID ?? ""),
                "textdescription": .string(owner ?? ""),
            ])
    }

    /// Cuts the client's connection, without its last will.
    package var passwordChange: DynamicSecurity.Command {
        .init(
            name: "setClientPassword",
            members: ["username": .string(username), "password": password.json])
    }

    package static func removal(username: String, role: String) -> [DynamicSecurity.Command] {
        [.init(name: "deleteClient", members: ["username": .string(username)]),
         .init(name: "deleteRole", members: ["rolename": .string(role)])]
    }
}

extension SecretBytes {
    /// For a message to the broker's control topic, which carries passwords.
    fileprivate var json: JSONValue { .string(String(decoding: reveal(), as: UTF8.self)) }
}
