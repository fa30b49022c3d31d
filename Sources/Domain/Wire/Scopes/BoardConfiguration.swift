package import Sessions

/// The rules of a board as texts: its `policy.toml`, and its routes as `[[route]]` of `agent.toml`.
///
/// Source: the wire contract, The kept configuration.
package struct BoardConfiguration: Equatable, Sendable {
    /// The most bytes of both texts together, each as a JSON string.
    package static let sizeLimit = 64 * 1024

    /// Nil: the board has no policy file.
    package let policy: String?
    /// Nil: the board has no routes.
    package let routes: String?

    package static let none = BoardConfiguration(policy: nil, routes: nil)

    package init(policy: String?, routes: String?) {
        (self.policy, self.routes) = (policy, routes)
    }

    package var isEmpty: Bool { self == .none }

    /// Whether a message can carry both texts.
    package var canBeSent: Bool { !isTooLarge && texts.allSatisfy(Self.isPlain) }

    private var isTooLarge: Bool {
        texts.reduce(0) { $0 + JSONValue.string($1).bytes.count } > Self.sizeLimit
    }

    private var texts: [String] { [policy, routes].compactMap(\.self) }

    /// Reads both texts. Throws for more than `sizeLimit` bytes, and for control characters that
    /// no such file may have.
    package init(json: JSONObject) throws(WireError) {
        self.init(policy: try Self.text("policy", json), routes: try Self.text("routes", json))
        guard !isTooLarge else { throw .tooLarge(limit: Self.sizeLimit) }
    }

    private static func text(_ name: String, _ json: JSONObject) throws(WireError) -> String? {
        try json.optional(name) { value in
            value.asString.flatMap { isPlain($0) ? $0 : nil }
        }
    }

    /// Whether a text has no control characters but tabs and ends of lines.
    private static func isPlain(_ text: String) -> Bool {
        !String(text.unicodeScalars.filter { !["\n", "\r", "\t"].contains($0) })
            .hasControlCharacters
    }

    package var members: [String: JSONValue] {
        [
            "policy": policy.map(JSONValue.string) ?? .null,
            "routes": routes.map(JSONValue.string) ?? .null,
        ]
    }
}
