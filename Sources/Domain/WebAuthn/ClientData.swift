import Sessions
import Wire

/// What the browser says about a ceremony: which one, for which challenge, on which page.
///
/// Source: WebAuthn Level 2 §5.8.1.
package struct ClientData: Equatable, Sendable {
    package let type: String
    package let challenge: [UInt8]
    package let origin: String
    /// Whether the page was inside of a page of another origin.
    package let isEmbedded: Bool

    package enum Ceremony: String, Sendable {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    /// The largest input, in bytes.
    package static let limit = 4096

    /// Reads the JSON text. Other members are ignored: browsers add some.
    package init(parsing bytes: [UInt8]) throws(PasskeyFault) {
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes, limit: Self.limit, values: 64)
            type = try json.string("type")
            challenge = try json.parsed("challenge") { Base64URL.decode($0) }
            origin = try json.string("origin")
            isEmbedded = try json.optional("crossOrigin") { $0.asBool } ?? false
                || json.members["topOrigin"] ?? .null != .null
        } catch {
            throw .malformed
        }
    }

    /// Source: WebAuthn Level 2 §7.1, steps 7 to 9, and §7.2, steps 11 to 13.
    package func check(
        _ ceremony: Ceremony, challenge expected: [UInt8], at site: RelyingParty
    ) throws(PasskeyFault) {
        guard type == ceremony.rawValue else { throw .ceremony }
        guard SecretBytes(challenge).matches(SecretBytes(expected)) else { throw .challenge }
        guard origin == site.origin else { throw .origin }
        guard !isEmbedded else { throw .embedded }
    }
}
