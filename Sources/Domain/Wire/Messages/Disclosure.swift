import Sessions

/// Filters the extra members of a session or user before the board's apps see them. It removes
/// tokens and passwords, found by name or form, at any depth. It also removes sessions that are not
/// restricted.
///
/// Source: the wire contract, Reads (`never a token`), and its first lines: a
/// restricted session never reads an unrestricted one.
enum Disclosure {
    private static let secretNames: Set<String> = [
        "sessionToken", "accessToken", "refreshToken", "password", "authData",
    ]
    /// The least length of a token's text after its prefix, in bytes.
    private static let tokenLength = 16

    static func of(_ members: [String: JSONValue]) -> [String: JSONValue] {
        var shown: [String: JSONValue] = [:]
        for (name, value) in members where !isSecret(name) {
            if let value = of(value) { shown[name] = value }
        }
        return shown
    }

    /// The value without its secret parts; nil if nothing is left.
    private static func of(_ value: JSONValue) -> JSONValue? {
        switch value {
        case .string(let text): isToken(text) ? nil : value
        case .array(let values): .array(values.compactMap { of($0) })
        case .object(let members): isOpenSession(members) ? nil : .object(of(members))
        case .null, .bool, .integer, .number: value
        }
    }

    /// A name that begins with an underscore is Parse's own, such as `_session_token`. Custom
    /// fields have no such names.
    private static func isSecret(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "_") || secretNames.contains(name)
    }

    /// A session or refresh token, or a JWT.
    private static func isToken(_ text: String) -> Bool {
        for prefix in [SessionToken.prefix, RefreshToken.prefix] where text.hasPrefix(prefix) {
            return isTokenText(text.dropFirst(prefix.count))
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && text.hasPrefix("eyJ") && parts[..<2].allSatisfy(isTokenText)
    }

    private static func isTokenText(_ text: Substring) -> Bool {
        text.utf8.count >= tokenLength && text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    private static func isOpenSession(_ members: [String: JSONValue]) -> Bool {
        let restricted = members["restricted"]
        if members["className"] == .string("_Session") { return restricted != .bool(true) }
        let isSession = members["objectId"] != nil || members["createdWith"] != nil
        return isSession && restricted == .bool(false)
    }
}
