import Sessions
import Wire

/// A file with a session that was made elsewhere. It is JSON with `sessionToken`, and possibly
/// `accessToken` and custom fields. Or it is only a session token.
struct SessionFile: Sendable {
    /// The members of the claim's `session`.
    let members: [String: JSONValue]

    private static let limit = 64 * 1024
    private static let refresh = "refreshToken"

    /// Reads the file. An error says what is wrong, but shows no content of the file.
    init(_ path: String, in surroundings: CommandEnvironment) throws(CommandFailure) {
        let bytes = try SecretFile.read(path, limit: Self.limit, in: surroundings)
        var text = bytes.drop(while: Self.isSpace)
        while text.last.map(Self.isSpace) == true { text.removeLast() }
        guard text.first == UInt8(ascii: "{") else {
            guard let token = SessionToken(String(decoding: text, as: UTF8.self)) else {
                throw .configuration("\(path): neither JSON nor a session token (r:…)")
            }
            members = ["sessionToken": .string(token.reveal())]
            return
        }
        var members: [String: JSONValue]
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes)
            _ = try json.parsed("sessionToken", SessionToken.init)
            _ = try json.optional("accessToken") { $0.asString.flatMap(AccessToken.init) }
            members = json.members
        } catch {
            throw .configuration("\(path): \(error.refusal.text)")
        }
        if members.removeValue(forKey: Self.refresh) != nil {
            surroundings.note(
                "note: the refreshToken in \(path) is not sent; the authority makes its own")
        }
        self.members = members
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte)
    }
}
