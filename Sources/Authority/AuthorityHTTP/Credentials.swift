import AuthorityCore
import HTTPTypes
import Sessions
import Wire

/// The credentials of a request, from its headers (Parse's own, or HTTP Basic) or from members of
/// its body. Parse's JavaScript SDK sends them in the body. Nothing in them is trusted yet.
///
/// Source: Parse REST guide, Request format.
struct Credentials: Sendable {
    var applicationID: String?
    var bearer = Call.Bearer.none
    /// Parse has one key for each kind of client; this authority has one key for all.
    var clientKey: SecretBytes?
    var masterKey: SecretBytes?
    /// Not yet parsed.
    var installation: String?

    /// `basicFor`: the application whose keys may come by HTTP Basic; nil: none may. They count
    /// only where no header of Parse names the application.
    init(_ headers: HTTPFields, basicFor application: String?) {
        let value = { (name: HTTPField.Name?) in name.flatMap { headers[$0] } }
        applicationID = value(HTTPFieldName.applicationID)
        bearer = Call.Bearer(value(HTTPFieldName.sessionToken))
        clientKey = HTTPFieldName.clientKeys.lazy.compactMap(value).first.map(Self.secret)
        masterKey = value(HTTPFieldName.masterKey).map(Self.secret)
        installation = value(HTTPFieldName.installationID)
        guard applicationID == nil,
            let basic = application.flatMap({ BasicKeys(headers, of: $0) })
        else { return }
        applicationID = basic.applicationID
        switch basic.key {
        case nil: break
        case .client(let key): clientKey = clientKey ?? key
        case .master(let key): masterKey = masterKey ?? key
        }
    }

    /// Members of a body that are credentials and not data.
    ///
    /// `passedOver` are members that are ignored. The SDK marks its sessions as revocable; here all
    /// sessions are.
    static let members: Set<String> = [
        "_ApplicationId", "_SessionToken", "_MasterKey", "_JavaScriptKey", "_InstallationId",
    ]
    static let passedOver: Set<String> = [
        "_ClientVersion", "_RevocableSession", "_ContentType", "_noBody", "_context",
    ]

    /// Adds the credentials of a body. 119 if a session token, master key or installation id is in
    /// a header too; a client key in a header wins. A value of these three that is not a string
    /// counts as wrong, not as absent.
    func with(_ body: [String: JSONValue]) throws(AuthorityError) -> Credentials {
        var merged = self
        if let value = body["_SessionToken"] {
            guard !bearer.isThere else { throw Self.twice }
            merged.bearer = Call.Bearer(value.asString ?? "")
        }
        if let value = body["_MasterKey"] {
            guard masterKey == nil else { throw Self.twice }
            merged.masterKey = Self.secret(value.asString ?? "")
        }
        if let value = body["_InstallationId"] {
            guard installation == nil else { throw Self.twice }
            merged.installation = value.asString ?? ""
        }
        merged.applicationID = body["_ApplicationId"]?.asString
        merged.clientKey = clientKey ?? body["_JavaScriptKey"]?.asString.map(Self.secret)
        return merged
    }

    private static func secret(_ text: String) -> SecretBytes { SecretBytes(Array(text.utf8)) }

    static let twice = AuthorityError.refused(
        Refusal(.forbidden, "send credentials in the headers or in the body, not in both"))
}
