import AuthorityCore
import Sessions
import Wire

/// The members of a session that a client may set. Ignores the members that the authority sets;
/// `CustomFields` checks the others. Source: Parse REST guide, Sessions.
extension SessionDraft {
    init(json: JSONObject) throws(AuthorityError) {
        try json.requireNoACL()
        let installation = try reading { () throws(WireError) in
            try json.optional("installationId") { $0.asString.flatMap(InstallationID.init) }
        }
        self.init(installation: installation, custom: CustomFields.settable(json.members))
    }
}

extension ClaimOrder {
    /// `{"url"}` and the terms. Beside custom fields, `session` may hold a `sessionToken` that was
    /// made elsewhere, and its `accessToken`.
    init(json: JSONObject) throws(AuthorityError) {
        let terms = try ClaimTerms(json: json)
        let url = try Self.url(in: json)
        let imported = try reading { () throws(WireError) in
            try ImportedTokens(session: try json.session)
        }
        self.init(url: url, terms: terms, imported: imported)
    }

    private static func url(in json: JSONObject) throws(AuthorityError) -> ClaimURL {
        let text: String
        do throws(WireError) {
            text = try json.string("url")
        } catch {
            throw .refused(error.refusal.named(.claimMalformed))
        }
        do throws(WireError) {
            return try ClaimURL(text)
        } catch {
            let code = ErrorCode(rawValue: error.refusal.code) ?? .validation
            throw .refused(Refusal(code, ClaimURL.words(for: error), name: .claimMalformed))
        }
    }
}

extension ClaimTerms {
    /// `{"durationSeconds"?, "scope"?, "session"?}`.
    init(json: JSONObject) throws(AuthorityError) {
        let session = try reading { () throws(WireError) in try json.session }
        try session.requireNoACL()
        let custom = CustomFields.settable(session.members)
        let duration = try Self.duration(in: json)
        self = try reading { () throws(WireError) in
            ClaimTerms(
                duration: duration,
                scope: try json.optional("scope") { value in
                    value.asObject == nil ? nil : ScopeDocument(unchecked: value)
                },
                custom: custom)
        }
    }

    /// From one second to one year. The frontend decides how much of it is granted.
    private static func duration(in json: JSONObject) throws(AuthorityError) -> Duration? {
        do throws(WireError) {
            return try json.optional("durationSeconds") { value in
                guard let seconds = value.asInteger, seconds >= 1,
                    seconds <= LifetimePolicy.longest.components.seconds
                else { return nil }
                return .seconds(seconds)
            }
        } catch {
            throw .refused(error.refusal.named(.durationOutOfRange))
        }
    }
}

extension JSONObject {
    /// The member `session`; empty if there is none.
    fileprivate var session: JSONObject {
        get throws(WireError) {
            try optional("session") { $0.asObject.map(JSONObject.init) } ?? JSONObject([:])
        }
    }

    /// The code and the text of Parse server. Source: `RestWrite.handleSession`.
    fileprivate func requireNoACL() throws(AuthorityError) {
        guard members["ACL"] ?? .null == .null else {
            throw .refused(Refusal(.badKeyName, "Cannot set ACL on a Session."))
        }
    }
}

extension ImportedTokens {
    /// Nil if there is no token. An access token without a session token is an error.
    fileprivate init?(session: JSONObject) throws(WireError) {
        let access = try session.optional("accessToken") { $0.asString.flatMap(AccessToken.init) }
        let token = try session.optional("sessionToken") {
            $0.asString.flatMap(SessionToken.init)
        }
        guard let token else {
            guard access == nil else { throw .missing("sessionToken") }
            return nil
        }
        self.init(session: token, access: access)
    }
}
