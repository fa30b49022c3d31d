package import Sessions

/// The users and roles that may read and write an object.
/// Source: Parse REST guide, Access Control Lists.
package struct AccessList: Equatable, Sendable {
    package enum Subject: Hashable, Sendable {
        case everyone
        case user(UserID)
        case role(RoleName)

        init?(_ text: String) {
            if text == "*" {
                self = .everyone
            } else if text.hasPrefix("role:") {
                guard let name = RoleName(String(text.dropFirst(5))) else { return nil }
                self = .role(name)
            } else {
                guard let user = UserID(text) else { return nil }
                self = .user(user)
            }
        }

        var text: String {
            switch self {
            case .everyone: "*"
            case .user(let id): id.description
            case .role(let name): "role:\(name)"
            }
        }
    }

    package enum Right: String, Sendable, CaseIterable { case read, write }

    private var rights: [Right: Set<Subject>] = [:]
    private static let limit = 100

    /// `{"*": {"read": true}, "<user>": …, "role:<name>": …}`. Nil for anything else, and for more
    /// than 100 entries.
    package init?(json: JSONValue) {
        guard case .object(let entries) = json, entries.count <= Self.limit else { return nil }
        for (key, value) in entries {
            guard let subject = Subject(key), case .object(let given) = value else { return nil }
            for (name, flag) in given {
                guard let right = Right(rawValue: name), case .bool(let isGiven) = flag else {
                    return nil
                }
                if isGiven { rights[right, default: []].insert(subject) }
            }
        }
    }

    package var json: JSONValue {
        var entries: [String: [String: JSONValue]] = [:]
        for (right, subjects) in rights {
            for subject in subjects {
                entries[subject.text, default: [:]][right.rawValue] = .bool(true)
            }
        }
        return .object(entries.mapValues(JSONValue.object))
    }

    /// `user` is nil without a session. `roles` are all roles of the user.
    package func gives(_ right: Right, to user: UserID?, in roles: Set<RoleName>) -> Bool {
        guard let subjects = rights[right] else { return false }
        if subjects.contains(.everyone) { return true }
        guard let user else { return false }
        return subjects.contains(.user(user)) || roles.contains { subjects.contains(.role($0)) }
    }
}

/// A role's name: 1 to 64 letters, digits, `_`, `-` and spaces. No space at either end.
/// Source: Parse REST guide, Roles.
package struct RoleName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count), bytes.first != 0x20, bytes.last != 0x20,
            bytes.allSatisfy({ byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x20: true
                default: false
                }
            })
        else { return nil }
        description = text
    }
}
