package import Sessions

/// The header of an access token. Source: RFC 9068 §2.1, RFC 8725 §3.11.
package struct AccessTokenHeader: Equatable, Sendable {
    package let kid: KeyID

    package init(kid: KeyID) { self.kid = kid }

    /// Refuses every `alg` except EdDSA and every `typ` except `at+jwt`.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: bytes, limit: 4096)
        guard try json.string("alg") == "EdDSA" else { throw .mistyped("alg") }
        guard try json.string("typ") == "at+jwt" else { throw .mistyped("typ") }
        guard json.members["crit"] == nil else { throw .mistyped("crit") }
        kid = try json.parsed("kid", KeyID.init)
    }

    package var bytes: [UInt8] {
        JSONValue.object(
            ["alg": "EdDSA", "typ": "at+jwt", "kid": kid.description].mapValues(JSONValue.string)
        ).bytes
    }
}

/// The claims of an access token. Source: the wire contract, The access token; RFC 7519 §4.1.
package struct AccessTokenClaims: Equatable, Sendable {
    package static let audience = "postern"
    /// The longest time from `iat` to `exp`.
    package static let longestLife = Duration.seconds(3600)
    /// The largest difference allowed between the clocks of signer and reader.
    package static let tolerance = Duration.seconds(60)

    package var issuer: String
    package var subject: UserID
    package var issuedAt: Timestamp
    package var notBefore: Timestamp
    package var expiresAt: Timestamp
    package var tokenID: String
    package var session: ObjectID
    package var installation: InstallationID
    package var restricted: Bool
    package var scope: ScopeDocument?
    /// The device key that the token is bound to. Source: RFC 7800 §3.1.
    package var deviceKey: KeyID

    package init(
        issuer: String, subject: UserID, issuedAt: Timestamp, expiresAt: Timestamp,
        tokenID: String, session: ObjectID, installation: InstallationID, scope: ScopeDocument?,
        deviceKey: KeyID
    ) {
        self.issuer = issuer
        self.subject = subject
        self.issuedAt = issuedAt
        notBefore = issuedAt
        self.expiresAt = expiresAt
        self.tokenID = tokenID
        self.session = session
        self.installation = installation
        restricted = true
        self.scope = scope
        self.deviceKey = deviceKey
    }

    /// Parses and checks form, audience and lifetime. The caller checks the identities, and the
    /// times against a clock.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: bytes, limit: AccessToken.limit)
        guard try json.string("aud") == Self.audience else { throw .mistyped("aud") }
        issuer = try json.string("iss")
        subject = try json.parsed("sub", UserID.init)
        issuedAt = try json.time("iat")
        notBefore = try json.time("nbf")
        expiresAt = try json.time("exp")
        guard issuedAt < expiresAt, expiresAt - issuedAt <= Self.longestLife else {
            throw .mistyped("exp")
        }
        tokenID = try json.string("jti")
        session = try json.parsed("sid", ObjectID.init)
        installation = try json.parsed("iid", InstallationID.init)
        restricted = try json.required("restricted") { $0.asBool }
        scope = try json.scope("scope")
        deviceKey = try json.object("cnf").parsed("kid", KeyID.init)
    }

    /// Whether the token's time has begun, by a clock that is at most `tolerance` wrong.
    package func hasBegun(at now: Timestamp) -> Bool {
        max(issuedAt, notBefore) <= now + Self.tolerance
    }

    /// Whether the token is valid now, by a clock that is at most `tolerance` wrong.
    package func isTimely(at now: Timestamp) -> Bool {
        hasBegun(at: now) && now < expiresAt + Self.tolerance
    }

    package var bytes: [UInt8] {
        var members: [String: JSONValue] = [
            "iss": .string(issuer), "sub": .string(subject.description),
            "aud": .string(Self.audience), "iat": .time(issuedAt), "nbf": .time(notBefore),
            "exp": .time(expiresAt), "jti": .string(tokenID),
            "sid": .string(session.description), "iid": .string(installation.description),
            "restricted": .bool(restricted),
            "cnf": .object(["kid": .string(deviceKey.description)]),
        ]
        members["scope"] = scope?.json
        return JSONValue.object(members).bytes
    }
}
