package import Sessions

/// The request of a board with a prepared claim: the parts of its claim URL, which no person has
/// to scan. It is sealed in mode `psk` to the authority.
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
    /// The board's own claim secret, 32 bytes. It does not come from the file.
    package let claimSecret: SecretBytes
    /// For people; see `ClaimURL.name`.
    package let name: String

    package init(
        id: MessageID, issuedAt: Timestamp, clockUnset: Bool, installation: InstallationID,
        deviceKey: [UInt8], claimSecret: SecretBytes, name: String
    ) {
        self.id = id
        self.issuedAt = issuedAt
        self.clockUnset = clockUnset
        self.installation = installation
        self.deviceKey = deviceKey
        self.claimSecret = claimSecret
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
        claimSecret = SecretBytes(try json.bytes("claimSecret", count: 32))
        name = try json.parsed("boardName") { $0 == ClaimURL.shown($0) ? $0 : nil }
    }

    package var plaintext: [UInt8] {
        var members: [String: JSONValue] = [
            "type": .string(Self.type), "id": .string(id.description), "iat": .time(issuedAt),
            "installationId": .string(installation.description),
            "deviceKey": .string(Base64URL.encode(deviceKey)),
            "claimSecret": .string(Base64URL.encode(claimSecret.reveal())),
            "boardName": .string(name),
        ]
        if clockUnset { members["clock"] = .string("unset") }
        return JSONValue.object(members).bytes
    }
}
