package import Sessions

/// The request of a board with a prepared claim: the parts of its claim URL, which no person has
/// to scan. It is sealed in mode `psk` to the authority: its sender has the prepared claim's file.
///
/// Source: the wire contract, Prepared claims.
package struct JoinRequest: Sendable {
    private static let type = "claim.join"

    package let id: MessageID
    package let issuedAt: Timestamp
    /// Whether the board does not trust its clock.
    package let clockUnset: Bool
    package let installation: InstallationID
    /// The board's raw X25519 public key, 32 bytes.
    package let deviceKey: [UInt8]
    /// A `JoinSecret`, sealed in mode `auth` with the device key to the same authority: so the
    /// sender has that key.
    package let claim: SealedEnvelope
    /// For people; see `ClaimURL.name`.
    package let name: String

    package init(
        id: MessageID, issuedAt: Timestamp, clockUnset: Bool, installation: InstallationID,
        deviceKey: [UInt8], claim: SealedEnvelope, name: String
    ) {
        self.id = id
        self.issuedAt = issuedAt
        self.clockUnset = clockUnset
        self.installation = installation
        self.deviceKey = deviceKey
        self.claim = claim
        self.name = ClaimURL.shown(name)
    }

    /// Parses the plaintext of an opened message. Errors name a member, never a value.
    package init(parsing plaintext: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: plaintext)
        guard try json.string("type") == Self.type else { throw .mistyped("type") }
        id = try json.parsed("id", MessageID.init)
        issuedAt = try json.time("iat")
        clockUnset = json.members["clock"] == .string("unset")
        installation = try json.parsed("installationId", InstallationID.init)
        deviceKey = try json.bytes("deviceKey", count: 32)
        claim = try SealedEnvelope(json.object("claim"))
        guard claim.mode == .auth else { throw .mistyped("mode") }
        name = try json.parsed("boardName") { $0 == ClaimURL.shown($0) ? $0 : nil }
    }

    package var plaintext: [UInt8] {
        var members: [String: JSONValue] = [
            "type": .string(Self.type), "id": .string(id.description), "iat": .time(issuedAt),
            "installationId": .string(installation.description),
            "deviceKey": .string(Base64URL.encode(deviceKey)),
            "claim": claim.json, "boardName": .string(name),
        ]
        if clockUnset { members["clock"] = .string("unset") }
        return JSONValue.object(members).bytes
    }
}

/// The content of `JoinRequest.claim`: the board's own claim secret, 32 bytes. The file of the
/// prepared claim does not have it.
package struct JoinSecret: Sendable {
    package let secret: SecretBytes

    package init(_ secret: SecretBytes) { self.secret = secret }

    package init(parsing plaintext: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: plaintext, limit: 1024, values: 16)
        secret = SecretBytes(try json.bytes("claimSecret", count: 32))
    }

    package var plaintext: [UInt8] {
        JSONValue.object(["claimSecret": .string(Base64URL.encode(secret.reveal()))]).bytes
    }
}
