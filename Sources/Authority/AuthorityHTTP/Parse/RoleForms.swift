import AuthorityCore
import Gate
import Sessions
import Wire

// Roles and relations in the form of Parse's REST API.

extension Caller {
    /// 119 for a restricted session, with the text that the board's bus uses too.
    func requireMayWrite(_ name: ClassName) throws(AuthorityError) {
        if let refusal = refusal(writing: name) { throw .refused(refusal) }
    }
}

extension RoleRecord {
    /// Only names the role's relations, as in Parse. A query finds their members.
    var parseForm: [String: JSONValue] {
        let relation = { (name: String) in
            JSONValue.object(["__type": .string("Relation"), "className": .string(name)])
        }
        return [
            "objectId": .string(objectID.description), "name": .string(name.description),
            "createdAt": .string(ParseDate.print(createdAt)),
            "updatedAt": .string(ParseDate.print(updatedAt)), "ACL": acl.json,
            "users": relation("_User"), "roles": relation("_Role"),
        ]
    }
}

extension RoleView {
    var findable: Findable {
        Findable(form: role.parseForm, unshown: [
            "users": .array(users.map(JSONValue.userPointer)),
            "roles": .array(role.roles.map { .pointer("_Role", $0.description) }),
        ])
    }
}

extension RoleDraft {
    /// `{"name"?, "ACL"?, "users"?, "roles"?}`. Ignores members that the authority sets; 119 for
    /// any other member.
    init(json: JSONObject) throws(AuthorityError) {
        for name in json.members.keys where !Self.members.contains(name) {
            guard CustomFields.settable([name: .null]).isEmpty else {
                throw .refused(Refusal(.forbidden, "a role has only the members \(Self.names)"))
            }
        }
        self = try reading { () throws(WireError) in
            RoleDraft(
                name: try json.optional("name") { $0.asString },
                acl: try json.optional("ACL", AccessList.init(json:)),
                users: try json.optional("users") { value in
                    RelationChange(json: value, of: "_User") { UserID($0) }
                } ?? RelationChange(),
                roles: try json.optional("roles") { value in
                    RelationChange(json: value, of: "_Role", ObjectID.init)
                } ?? RelationChange())
        }
    }

    private static let members: Set<String> = ["name", "ACL", "users", "roles"]
    private static let names = "name, ACL, users and roles"
}

extension RelationChange {
    /// `{"__op": "AddRelation" | "RemoveRelation", "objects": [pointer]}`, or a `Batch` of these. A
    /// relation as it was read changes nothing. Nil for anything else.
    init?(json: JSONValue, of className: String, _ parse: (String) -> ID?) {
        self.init()
        guard let members = json.asObject else { return nil }
        if members["__type"] == .string("Relation") { return }
        var changes = [members]
        if members["__op"] == .string("Batch") {
            changes = members["ops"]?.asArray?.compactMap(\.asObject) ?? []
        }
        for change in changes {
            guard let objects = change["objects"]?.asArray else { return nil }
            let ids = objects.compactMap { object in
                object.asObject.flatMap { pointer -> ID? in
                    guard pointer["className"] == .string(className) else { return nil }
                    return pointer["objectId"]?.asString.flatMap(parse)
                }
            }
            guard ids.count == objects.count else { return nil }
            switch change["__op"] {
            case .string("AddRelation"):
                added.formUnion(ids)
                removed.subtract(ids)
            case .string("RemoveRelation"):
                removed.formUnion(ids)
                added.subtract(ids)
            default: return nil
            }
        }
    }
}
