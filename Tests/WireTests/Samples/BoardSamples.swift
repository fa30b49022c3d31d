import Sessions
import Wire

extension Sample {
    private static let head: [Member] = [
        Member("id", .text, refuses: ["", "x"]), Member("iat", .time), Member("type", .text),
    ]

    private static func board(
        _ name: String, _ json: [String: JSONValue], _ members: [Member]
    ) -> Sample {
        let whole = json.merging([
            "id": .string(Example.id), "iat": Example.time, "type": .string(name),
        ]) { $1 }
        return Sample(description: name, json: whole, members: head + members) {
            bytes throws(WireError) in
            do throws(UnreadableMessage) {
                return try BoardMessage(parsing: bytes).plaintext
            } catch {
                throw error.reason
            }
        }
    }

    private static let sessionToken = Member(
        "sessionToken", .text, refuses: ["", "r:", "rt:abc", "r:\n"])

    static let boardMessages = [
        board("provision.accepted", ["re": .string(Example.id), "sessionId": "Session001"], [
            Member("re", .text, refuses: ["x"]), Member("sessionId", .text, refuses: ["x"]),
        ]),
        board("provision.rejected", [
            "re": .string(Example.id), "error": .object(["code": 142, "error": "expired"]),
        ], [
            Member("re", .text, refuses: ["x"]), Member("error", .object),
            Member("error.code", .integer), Member("error.error", .text),
        ]),
        board("session.ended", ["re": .string(Example.id), "sessionId": "Session001"], [
            Member("re", .text, refuses: ["x"]), Member("sessionId", .text, refuses: ["x"]),
        ]),
        board("session.confirmed", ["re": .string(Example.id), "sessionId": "Session001"], [
            Member("re", .text, refuses: ["x"]), Member("sessionId", .text, refuses: ["x"]),
        ]),
        board("command.result", [
            "re": .string(Example.id), "sessionId": "Session001", "state": "refused",
            "error": .object(["code": 119, "error": "no", "rule": "builtin:command"]),
        ], [
            Member("re", .text, refuses: ["x"]), Member("sessionId", .text, refuses: ["x"]),
            Member("state", .text, refuses: ["", "done"]), Member("error", .object),
            Member("error.rule", .text, optional: true),
        ]),
        board("session.authenticate", [
            "sessionToken": "r:abc", "durationMinutes": 60, "clock": "unset",
            "report": Example.report,
        ], [sessionToken, Member("durationMinutes", .integer, optional: true)]),
        board("session.refresh", ["refreshToken": "rt:abc"], [
            Member("refreshToken", .text, refuses: ["", "rt:", "r:abc"]),
        ]),
        board("session.revoke", ["sessionToken": "r:abc"], [sessionToken]),
        board("session.list", ["sessionToken": "r:abc"], [sessionToken]),
        board("user.get", ["sessionToken": "r:abc"], [sessionToken]),
        board("configuration.save", [
            "sessionToken": "r:abc", "policy": "default = \"deny\"\n", "routes": "[[route]]\n",
        ], [
            sessionToken, Member("policy", .text, optional: true, refuses: ["a\u{1B}[31m"]),
            Member("routes", .text, optional: true, refuses: ["\0", "\u{9B}"]),
        ]),
        board("configuration.get", ["sessionToken": "r:abc"], [sessionToken]),
    ]
}
