package import Sessions
import Wire

/// The custom members of a session, a user or an installation, which clients may set. Read-only
/// members are left out, and the rest is limited in size.
package struct CustomFields: Equatable, Sendable {
    let members: [String: JSONValue]

    /// The object that has the fields.
    package enum Owner: String, Sendable {
        case session, user, installation

        /// Members of the contract, and extra members that owners see. No client can set them.
        var readOnly: Set<String> {
            switch self {
            case .session: CustomFields.readOnly
            case .user: CustomFields.common.union([
                "id", "username", "password", "oldPassword", "keepBoards", "email",
                "emailVerified", "authData", "isAdministrator", "mayClaim", "enabled",
            ])
            case .installation: CustomFields.common.union(["installationId", "user"])
            }
        }
    }

    static let none = CustomFields(kept: [:])
    static let countLimit = 32
    static let byteLimit = 4096
    static let depthLimit = 8

    private static let common: Set<String> = [
        "objectId", "createdAt", "updatedAt", "sessionToken", "accessToken", "refreshToken", "ACL",
        "className",
    ]
    static let readOnly = common.union([
        "user", "restricted", "createdWith", "expiresAt", "installationId", "state", "lastSeen",
        "boardName", "username", "generation", "isThisOne", "endsAt", "endCause", "latestEnd",
        "scope", "scopePending",
    ])

    /// Names with a special meaning in JavaScript objects. They are refused within values, too.
    /// Source: Parse server, `requestKeywordDenylist`.
    static let prohibited: Set<String> = ["__proto__", "constructor", "prototype"]

    /// Selects the members of a body that are not read-only. Keeps prohibited names, so that they
    /// are refused later.
    package static func settable(
        _ members: [String: JSONValue], of owner: Owner = .session
    ) -> [String: JSONValue] {
        members.filter { !isReadOnly($0.key, of: owner) || prohibited.contains($0.key) }
    }

    /// Applies what a client sent to the old members: values, and Parse's operations. 105 for a
    /// name that Parse would refuse. 111 for an operation that does not fit the old value, 119 for
    /// an unknown one. 116 for too many bytes, 142 for too many fields or too deep values.
    init(
        _ sent: [String: JSONValue], over old: [String: JSONValue] = [:],
        of owner: Owner = .session
    ) throws(AuthorityError) {
        var members = old
        guard !Self.namesProhibited(.object(sent)) else {
            throw .refuse(
                .badKeyName, "a field cannot be named __proto__, constructor or prototype")
        }
        for (name, value) in sent where !Self.isReadOnly(name, of: owner) {
            guard Self.isKey(name) else {
                throw .refuse(
                    .badKeyName, "a field's name has a letter first, then letters, digits and _")
            }
            members[name] = try FieldOperation(value).result(on: members[name])
        }
        guard members.count <= Self.countLimit else {
            throw .refuse(.validation, "a \(owner) has at most \(Self.countLimit) custom fields")
        }
        guard !members.values.contains(where: { Self.isDeeper($0, than: Self.depthLimit) })
        else {
            throw .refuse(.validation, "a field nests at most \(Self.depthLimit) levels")
        }
        let text = JSONValue.object(members).bytes
        guard text.count <= Self.byteLimit else {
            throw .refuse(.tooLarge, "a \(owner)'s custom fields have at most 4 KiB")
        }
        self.members = members
    }

    /// Stored members, which were checked before.
    init(kept members: [String: JSONValue]) { self.members = members }

    package static func isReadOnly(_ name: String, of owner: Owner) -> Bool {
        owner.readOnly.contains(name) || name.hasPrefix("_")
    }

    /// Source: Parse REST guide, Objects: names of fields.
    private static func isKey(_ name: String) -> Bool {
        let bytes = name.utf8
        guard (1...128).contains(bytes.count), let first = bytes.first, isLetter(first) else {
            return false
        }
        return bytes.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func namesProhibited(_ value: JSONValue) -> Bool {
        switch value {
        case .array(let values): values.contains(where: namesProhibited)
        case .object(let members):
            members.contains { prohibited.contains($0.key) || namesProhibited($0.value) }
        case .null, .bool, .integer, .number, .string: false
        }
    }

    private static func isDeeper(_ value: JSONValue, than levels: Int) -> Bool {
        let inner: [JSONValue]
        switch value {
        case .array(let values): inner = values
        case .object(let members): inner = Array(members.values)
        case .null, .bool, .integer, .number, .string: return false
        }
        return levels == 0 || inner.contains { isDeeper($0, than: levels - 1) }
    }
}
