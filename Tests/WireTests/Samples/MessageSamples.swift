import Sessions
import Wire

/// The JSON type that the contract gives a member.
enum MemberKind: Sendable {
    case text, integer, time, flag, object, list

    /// Values of another type, or of this one and out of range.
    var wrong: [JSONValue] {
        let others: [JSONValue] = switch self {
        case .text: [.integer(1), .bool(true), .array([]), .object([:])]
        case .integer: [.string("1"), .bool(true), .array([]), .object([:])]
        case .time: [
            .string("1"), .bool(false), .array([]), .integer(-1), .integer(.max),
            .integer(253_402_300_800),
        ]
        case .flag: [.string("true"), .integer(1), .array([]), .object([:])]
        case .object: [.string("{}"), .integer(1), .bool(true), .array([])]
        case .list: [.string("[]"), .integer(1), .bool(true), .object([:])]
        }
        return others + (self == .flag ? [] : [.number(1.5)])
    }
}

/// A member of a message: where it stands, what it is, and values that it must refuse.
struct Member: Sendable, CustomStringConvertible {
    let path: [String]
    let kind: MemberKind
    let isOptional: Bool
    /// Whether null is a value of it.
    let isNullable: Bool
    let refused: [JSONValue]

    init(
        _ path: String, _ kind: MemberKind, optional: Bool = false, nullable: Bool = false,
        refuses: [JSONValue] = []
    ) {
        self.path = path.split(separator: ".").map(String.init)
        self.kind = kind
        isOptional = optional
        isNullable = optional || nullable
        refused = kind.wrong + refuses
    }

    var name: String { path.last ?? "" }
    var description: String { path.joined(separator: ".") }
}

/// A valid message, with all of its members named.
struct Sample: Sendable, CustomStringConvertible {
    let description: String
    let json: [String: JSONValue]
    let members: [Member]
    /// Parses bytes and prints them again.
    let copy: @Sendable ([UInt8]) throws(WireError) -> [UInt8]

    var bytes: [UInt8] { JSONValue.object(json).bytes }

    /// The message with the member replaced, or deleted where `value` is nil.
    func bytes(_ member: Member, _ value: JSONValue?) -> [UInt8] {
        Self.set(member.path[...], value, in: .object(json)).bytes
    }

    private static func set(
        _ path: ArraySlice<String>, _ value: JSONValue?, in json: JSONValue
    ) -> JSONValue {
        guard let name = path.first, case .object(var members) = json else { return json }
        members[name] = path.count == 1
            ? value : members[name].map { set(path.dropFirst(), value, in: $0) }
        return .object(members)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral number: Int64) { self = .integer(number) }
}

/// Values that the samples are made of.
enum Example {
    static let board = "9b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b"
    static let id = "0e9c1f6a-2b7d-4c3e-9f10-a1b2c3d4e5f6"
    static let time: JSONValue = 1_700_000_000
    static let key = Base64URL.encode(Array(1...32))

    static let session: JSONValue = .object([
        "objectId": "Session001", "user": "User000001", "restricted": .bool(true),
        "createdWith": .object(["action": "create", "authProvider": "password"]),
        "installationId": .string(board), "createdAt": time, "expiresAt": 1_800_000_000,
        "room": "attic", "tags": .array([1, .null, .object(["deep": .number(0.5)])]),
    ])
    static let user: JSONValue = .object([
        "objectId": "User000001", "username": "ann", "language": "en",
    ])
    static let scope: JSONValue = .object([
        "default": "deny",
        "rules": .array([.object(["class": "Reading", "allow": .array(["create"])])]),
    ])
    static let policy: JSONValue = .object([
        "default": "deny",
        "rules": .array([
            .object([
                "app": "thermo", "class": "Reading", "allow": .array(["create", "update"]),
                "fields": .object(["celsius": "number(-40..85)", "unit": "string?"]),
                "max_bytes": 4096, "line": 10,
            ]),
            .object(["class": "*", "allow": .array([]), "line": 17]),
        ]),
    ])
    static let report: JSONValue = .object([
        "queue": .object(["messages": 3, "bytes": 900, "oldest": time, "oldestAge": 8]),
        "lastForwarded": 41, "refused": 7,
        "refusals": .array([
            .object(["app": "mad", "rule": "builtin:protected-class", "count": 4]),
            .object(["app": "*", "rule": "*", "count": 3]),
        ]),
        "policy": policy,
    ])
    static let signKeys: JSONValue = .array([.object(["kid": "k1", "x": .string(key)])])

    static let envelope: [String: JSONValue] = [
        "v": 1, "mode": "auth", "to": "AAECAwQFBgc", "enc": .string(key),
        "ct": .string(Base64URL.encode(Array(0..<40))),
    ]
}
