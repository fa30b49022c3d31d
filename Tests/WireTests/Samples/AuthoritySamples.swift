import Sessions
import Wire

extension Sample {
    private static let head: [Member] = [
        Member("id", .text, refuses: ["", "x", "../../x"]), Member("iat", .time),
        Member("type", .text),
    ]

    private static let sessionMembers = members(
        end: Member("session.expiresAt", .time, optional: true))

    private static func members(end: Member) -> [Member] { [
        Member("session", .object), Member("session.objectId", .text, refuses: ["", "short"]),
        Member("session.user", .text, refuses: ["User00000/"]),
        Member("session.restricted", .flag), Member("session.createdWith", .object),
        Member("session.createdWith.action", .text),
        Member("session.createdWith.authProvider", .text),
        Member("session.installationId", .text, optional: true, refuses: ["x"]),
        Member("session.createdAt", .time), end,
    ] }

    private static func authority(
        _ name: String, _ json: [String: JSONValue], _ members: [Member]
    ) -> Sample {
        let whole = json.merging([
            "id": .string(Example.id), "iat": Example.time, "type": .string(name),
        ]) { $1 }
        return Sample(description: name, json: whole, members: head + members) {
            bytes throws(WireError) in try AuthorityMessage(parsing: bytes).plaintext
        }
    }

    static let provision = authority("provision", [
        "seq": 1_700_000_000_123, "exp": 1_700_086_400,
        "authority": .object([
            "name": "Home", "sealKey": .string(Example.key), "signKeys": Example.signKeys,
        ]),
        "session": Example.session, "user": Example.user, "sessionToken": "r:abc",
        "accessToken": "a.b.c", "refreshToken": "rt:abc", "scope": Example.scope,
        "heartbeat": 180, "offline": 3600,
        "broker": .object([
            "uri": "mqtts://b.example", "username": "u", "password": "p", "ca": "PEM",
        ]),
    ], members(end: Member("session.expiresAt", .time, nullable: true)) + [
        Member("seq", .integer), Member("exp", .time), Member("authority", .object),
        Member("authority.name", .text),
        Member("authority.sealKey", .text, refuses: ["", "AAAA", .string(Example.key + "=")]),
        Member("authority.signKeys", .list, refuses: [
            .array([]), .array(["x"]), .array(Array(repeating: .object([
                "kid": "k", "x": .string(Example.key),
            ]), count: 17)),
        ]),
        Member("user", .object), Member("user.objectId", .text, refuses: ["", "a/b", "+"]),
        Member("user.username", .text),
        Member("sessionToken", .text, refuses: ["", "r:", "rt:abc", "r:a b"]),
        Member("accessToken", .text, refuses: ["", "a b"]),
        Member("refreshToken", .text, refuses: ["", "r:abc", "rt:\0"]),
        Member("scope", .object, optional: true),
        Member("heartbeat", .integer, refuses: [0, -1, 34_560_001, .integer(.max)]),
        Member("offline", .integer, refuses: [0, -1, 34_560_001, .integer(.max)]),
        Member("broker", .object, optional: true), Member("broker.uri", .text, optional: true),
        Member("broker.username", .text, optional: true),
        Member("broker.password", .text, optional: true),
        Member("broker.ca", .text, optional: true),
    ])

    static let revoked = authority("session.revoked", [
        "seq": 7, "sessionId": "Session001", "reason": "revoked",
    ], [
        Member("seq", .integer), Member("sessionId", .text, refuses: ["x", "Session00/"]),
        Member("reason", .text),
    ])

    static let updated = authority("session.updated", [
        "seq": 8, "session": Example.session, "scope": Example.scope,
    ], sessionMembers + [Member("seq", .integer), Member("scope", .object, optional: true)])

    static let command = authority("command", [
        "sessionId": "Session001", "app": "heater", "deadline": 1_700_000_060,
        "command": .object(["celsius": 21]),
    ], [
        Member("sessionId", .text, refuses: ["x"]), Member("app", .text),
        Member("deadline", .time),
    ])

    static let reply = authority("reply", [
        "re": .string(Example.id), "now": Example.time, "session": Example.session,
        "user": Example.user, "scope": Example.scope, "accessToken": "a.b.c",
        "refreshToken": "rt:abc", "sessions": .array([Example.session]),
        "signKeys": Example.signKeys,
    ], [
        Member("re", .text, refuses: ["x"]), Member("now", .time),
        Member("accessToken", .text, optional: true, refuses: [""]),
        Member("refreshToken", .text, optional: true, refuses: ["r:abc"]),
        Member("sessions", .list, optional: true, refuses: [.array(["x"])]),
        Member("scope", .object, optional: true),
    ])

    static let errorReply = authority("reply", [
        "re": .string(Example.id), "now": Example.time,
        "error": .object(["code": 209, "error": "over"]),
    ], [
        Member("error.code", .integer), Member("error.error", .text),
    ])

    static let authorityMessages = [provision, revoked, updated, command, reply, errorReply]
}
