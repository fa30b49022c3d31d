package import Sessions

/// Everything a board needs to work under an authority: a session, its tokens, and the keys to
/// trust. Always sealed or encrypted, never in clear.
///
/// Source: the wire contract, The content (`provision`) and Provisioning.
package struct Provision: Sendable {
    package var sequence: Int64
    /// After this time the provisioning is not valid.
    package var expiresAt: Timestamp
    package var authority: PinnedAuthority
    package var session: Session
    package var user: UserProfile
    package var tokens: SessionTokens
    /// Nil: everything that the contract allows a restricted session.
    package var scope: ScopeDocument?
    package var heartbeat: Duration
    /// The time after the last contact for which the session stays usable.
    package var offline: Duration
    package var broker: BrokerAccess?
    /// The time over which a board spreads actions that a whole fleet wants at one moment; nil: not
    /// given.
    package var spread: Duration?

    package init(
        sequence: Int64, expiresAt: Timestamp, authority: PinnedAuthority, session: Session,
        user: UserProfile, tokens: SessionTokens, scope: ScopeDocument?, heartbeat: Duration,
        offline: Duration, broker: BrokerAccess?
    ) {
        self.sequence = sequence
        self.expiresAt = expiresAt
        self.authority = authority
        self.session = session
        self.user = user
        self.tokens = tokens
        self.scope = scope
        self.heartbeat = heartbeat
        self.offline = offline
        self.broker = broker
    }
}

/// The authority that a board trusts, with the keys received at provisioning.
package struct PinnedAuthority: Equatable, Sendable {
    package var name: String
    /// The raw X25519 public key that seals and opens the authority's messages.
    package var sealKey: [UInt8]
    package var signKeys: [SigningKey]

    package init(name: String, sealKey: [UInt8], signKeys: [SigningKey]) {
        self.name = name
        self.sealKey = sealKey
        self.signKeys = signKeys
    }

    package init(json: JSONObject) throws(WireError) {
        name = String(try json.string("name").prefix(200))
        sealKey = try json.bytes("sealKey", count: 32)
        signKeys = try json.signingKeys("signKeys")
    }

    package var json: JSONValue {
        .object([
            "name": .string(name), "sealKey": .string(Base64URL.encode(sealKey)),
            "signKeys": .array(signKeys.map(\.json)),
        ])
    }
}

/// The three tokens of a session on a board.
package struct SessionTokens: Sendable {
    package var session: SessionToken
    package var access: AccessToken
    package var refresh: RefreshToken

    package init(session: SessionToken, access: AccessToken, refresh: RefreshToken) {
        self.session = session
        self.access = access
        self.refresh = refresh
    }

    package init(json: JSONObject) throws(WireError) {
        session = try json.parsed("sessionToken", SessionToken.init)
        access = try json.parsed("accessToken", AccessToken.init)
        refresh = try json.parsed("refreshToken", RefreshToken.init)
    }

    package var members: [String: JSONValue] {
        [
            "sessionToken": .string(session.reveal()), "accessToken": .string(access.reveal()),
            "refreshToken": .string(refresh.reveal()),
        ]
    }
}

/// New broker settings for a board. Each member that is present replaces the old value.
package struct BrokerAccess: Sendable {
    package var uri: String?
    package var username: String?
    package var password: SecretBytes?
    /// CA certificates, PEM.
    package var ca: String?

    package init(uri: String?, username: String?, password: SecretBytes?, ca: String?) {
        self.uri = uri
        self.username = username
        self.password = password
        self.ca = ca
    }

    package init(json: JSONObject) throws(WireError) {
        uri = try json.optional("uri") { $0.asString }
        username = try json.optional("username") { $0.asString }
        password = try json.optional("password") { value in
            value.asString.map { SecretBytes(Array($0.utf8)) }
        }
        ca = try json.optional("ca") { $0.asString }
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["uri"] = uri.map(JSONValue.string)
        members["username"] = username.map(JSONValue.string)
        members["password"] = password.map {
            .string(String(decoding: $0.reveal(), as: UTF8.self))
        }
        members["ca"] = ca.map(JSONValue.string)
        return .object(members)
    }
}

extension Provision {
    private static let spans: ClosedRange<Int64> = 1...(400 * 86_400)

    package init(json: JSONObject) throws(WireError) {
        // Null means that the session never expires. An absent member is an error, because it says
        // nothing.
        guard try json.object("session").members["expiresAt"] != nil else {
            throw .missing("expiresAt")
        }
        self.init(
            sequence: try json.integer("seq"),
            expiresAt: try json.time("exp"),
            authority: try PinnedAuthority(json: try json.object("authority")),
            session: try json.session("session"),
            user: try json.user("user"),
            tokens: try SessionTokens(json: json),
            scope: try json.scope("scope"),
            heartbeat: try Self.span(json, "heartbeat"),
            offline: try Self.span(json, "offline"),
            broker: try json.optional("broker") { value throws(WireError) in
                guard let members = value.asObject else { return nil }
                return try BrokerAccess(json: JSONObject(members))
            })
        spread = try json.spread()
    }

    private static func span(_ json: JSONObject, _ name: String) throws(WireError) -> Duration {
        let seconds = try json.integer(name)
        guard spans.contains(seconds) else { throw .mistyped(name) }
        return .seconds(seconds)
    }

    /// The members of the message, and of its record in the vault.
    package var members: [String: JSONValue] {
        var members = tokens.members
        members["type"] = .string("provision")
        members["seq"] = .integer(sequence)
        members["exp"] = .time(expiresAt)
        members["authority"] = authority.json
        members["session"] = session.json
        members["user"] = user.json
        members["scope"] = scope?.json
        members["heartbeat"] = .integer(heartbeat.components.seconds)
        members["offline"] = .integer(offline.components.seconds)
        members["broker"] = broker?.json
        members["spread"] = spread.map { .integer($0.components.seconds) }
        return members
    }
}

extension JSONObject {
    /// `spread`: 0 to 3600 whole seconds; nil if absent.
    ///
    /// Source: the wire contract, Spreading.
    package func spread() throws(WireError) -> Duration? {
        try optional("spread") { value in
            guard let seconds = value.asInteger, seconds >= 0,
                seconds <= FleetSpread.longest.components.seconds
            else { return nil }
            return .seconds(seconds)
        }
    }
}
