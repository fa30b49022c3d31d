import AuthorityCore
import ConfigurationFiles
import Sessions
import Wire

/// What an OpenID Connect provider says of itself.
///
/// Source: OpenID Connect Discovery 1.0 §3 and §4; RFC 9207 §3.
struct ProviderMetadata: Equatable, Sendable {
    let entrance: ProviderEntrance
    let tokenEndpoint: String
    /// Whether the client secret goes into the body, because the provider takes it nowhere else.
    let takesSecretInBody: Bool

    /// The maximum size of a description in bytes.
    static let limit = 64 * 1024

    /// Nil unless the text describes this issuer, with addresses that a login may use.
    init?(parsing bytes: [UInt8], of issuer: String) {
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes, limit: Self.limit)
            // Source: OpenID Connect Discovery 1.0 §4.3.
            guard try json.string("issuer") == issuer else { return nil }
            // An issuer elsewhere may not lead this machine's requests to loopback in clear.
            func safe(_ text: String) -> String? {
                LoginAddress.isSafe(text)
                    && (text.hasPrefix("https://") || issuer.hasPrefix("http://")) ? text : nil
            }
            let address = try json.parsed("authorization_endpoint", safe)
            tokenEndpoint = try json.parsed("token_endpoint", safe)
            let methods = try json.optional("token_endpoint_auth_methods_supported") {
                $0.asArray
            }
            takesSecretInBody = methods.map { methods in
                !methods.contains(.string("client_secret_basic"))
                    && methods.contains(.string("client_secret_post"))
            } ?? false
            entrance = ProviderEntrance(
                address: address,
                namesItself: try json.optional("authorization_response_iss_parameter_supported") {
                    $0.asBool
                } ?? false)
        } catch {
            return nil
        }
    }

    init(_ endpoints: AuthoritySettings.LoginButton.Endpoints) {
        entrance = ProviderEntrance(address: endpoints.authorization, namesItself: false)
        tokenEndpoint = endpoints.token
        takesSecretInBody = false
    }

    /// Where an issuer describes itself. Source: OpenID Connect Discovery 1.0 §4.1.
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer)
            + "/.well-known/openid-configuration"
    }
}
