package import Sessions

/// The file that lets one board ask its authority for a session without a person at the board.
///
/// It is secret until its board has used it. Printing and parsing are inverses.
/// Source: the wire contract, Prepared claims.
package struct PreparedClaimFile: Sendable {
    /// The largest file, in bytes.
    package static let limit = 16 * 1024
    /// Room for the members, and for some that a later version may add.
    private static let valueLimit = 32

    /// The prepared claim's id. It has the place of an installation id in topics and derivations.
    package let id: InstallationID
    /// 32 bytes, from which both sides derive the login and the key of the join request.
    package let secret: SecretBytes
    /// The board's name. At least one character that can be seen.
    package let name: String
    package let broker: BrokerURI
    package let ca: CertificateAuthority?
    /// The authority's raw X25519 public key.
    package let sealKey: [UInt8]
    /// The authority's name, for people.
    package let authority: String
    package let expiresAt: Timestamp

    /// The CA that signed the broker's certificate. Nil: one of the system's.
    package struct CertificateAuthority: Equatable, Sendable {
        package let pem: String
        /// The reader of a file must compare it with the certificate in `pem`.
        package let fingerprint: CertificateFingerprint

        package init(pem: String, fingerprint: CertificateFingerprint) {
            self.pem = pem
            self.fingerprint = fingerprint
        }
    }

    package init(
        id: InstallationID, secret: SecretBytes, name: String, broker: BrokerURI,
        ca: CertificateAuthority?, sealKey: [UInt8], authority: String, expiresAt: Timestamp
    ) {
        self.id = id
        self.secret = secret
        self.name = name
        self.broker = broker
        self.ca = ca
        self.sealKey = sealKey
        self.authority = authority
        self.expiresAt = expiresAt
    }

    /// Parses a file. Errors name a member, never a value.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: bytes, limit: Self.limit, values: Self.valueLimit)
        guard try json.integer("v") == 1 else { throw .mistyped("v") }
        id = try json.parsed("id", InstallationID.init)
        secret = SecretBytes(try json.bytes("secret", count: 32))
        name = try json.parsed("name", Self.name)
        broker = try json.parsed("broker") { text in try? BrokerURI(text) }
        guard broker.scheme != .unix else { throw .mistyped("broker") }
        ca = try Self.ca(json)
        sealKey = try json.bytes("sealKey", count: 32)
        authority = try json.parsed("authority", Self.name)
        expiresAt = try json.time("exp")
    }

    /// The file's text, with its secret.
    package func reveal() -> [UInt8] { JSONValue.object(members).bytes }

    /// The file's members, with its secret.
    package var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "v": .integer(1), "id": .string(id.description),
            "secret": .string(Base64URL.encode(secret.reveal())), "name": .string(name),
            "broker": .string("\(broker)"), "sealKey": .string(Base64URL.encode(sealKey)),
            "authority": .string(authority), "exp": .time(expiresAt),
        ]
        if let ca {
            members["ca"] = .string(ca.pem)
            members["caFingerprint"] = .string("\(ca.fingerprint)")
        }
        return members
    }

    /// Both members or none.
    private static func ca(_ json: JSONObject) throws(WireError) -> CertificateAuthority? {
        let pem = try json.optional("ca") { $0.asString }
        let fingerprint = try json.optional("caFingerprint") { value in
            value.asString.flatMap { CertificateFingerprint($0) }
        }
        guard let pem else {
            guard fingerprint == nil else { throw .missing("ca") }
            return nil
        }
        guard let fingerprint else { throw .missing("caFingerprint") }
        return CertificateAuthority(pem: pem, fingerprint: fingerprint)
    }

    private static func name(_ text: String) -> String? {
        text == ClaimURL.shown(text) && text.contains { !$0.isWhitespace } ? text : nil
    }
}
