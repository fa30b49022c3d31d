import Sessions
import Wire

/// The header members of an id token that are used.
///
/// Source: RFC 7515 §4.1; RFC 8725 §3.
package struct IDTokenHeader: Equatable, Sendable {
    package let algorithm: String
    package let keyID: String?

    /// Refuses critical extensions, and any `typ` but `JWT`: a token made for another purpose is no
    /// id token. Source: RFC 7515 §4.1.11; RFC 8725 §3.11.
    package init(parsing bytes: [UInt8]) throws(IDTokenFault) {
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes, limit: 4096)
            guard json.members["crit"] == nil, json.members["b64"] == nil else {
                throw WireError.mistyped("crit")
            }
            let type = try json.optional("typ") { $0.asString }
            guard type.map({ $0.uppercased() == "JWT" }) ?? true else {
                throw WireError.mistyped("typ")
            }
            algorithm = try json.string("alg")
            keyID = try json.optional("kid") { $0.asString }
        } catch .notJSON {
            throw .malformed
        } catch {
            throw .wrongKind
        }
    }
}
