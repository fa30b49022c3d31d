package import Sessions

/// A message from the authority to a board: the plaintext of a sealed message.
///
/// Source: the wire contract, The content.
package struct AuthorityMessage: Sendable {
    package enum Body: Sendable {
        case provision(Provision)
        case revoked(sequence: Int64, session: ObjectID, reason: String)
        case updated(sequence: Int64, session: Session, scope: ScopeDocument?)
        case command(BoardCommand)
        case reply(Reply)
        /// A type that this version does not know.
        case unknown
    }

    package let id: MessageID
    package let issuedAt: Timestamp
    package let body: Body

    package init(id: MessageID, issuedAt: Timestamp, body: Body) {
        self.id = id
        self.issuedAt = issuedAt
        self.body = body
    }

    /// Parses the plaintext of an opened message.
    package init(parsing plaintext: [UInt8]) throws(WireError) {
        let json = try JSONObject(parsing: plaintext)
        id = try json.parsed("id", MessageID.init)
        issuedAt = try json.time("iat")
        switch try json.string("type") {
        case "provision": body = .provision(try Provision(json: json))
        case "session.revoked":
            body = .revoked(
                sequence: try json.integer("seq"),
                session: try json.parsed("sessionId", ObjectID.init),
                reason: String(try json.string("reason").prefix(64)))
        case "session.updated":
            body = .updated(
                sequence: try json.integer("seq"), session: try json.session("session"),
                scope: try json.scope("scope"))
        case "command": body = .command(try BoardCommand(json: json))
        case "reply": body = .reply(try Reply(json: json))
        default: body = .unknown
        }
    }

    package var plaintext: [UInt8] {
        var members: [String: JSONValue]
        switch body {
        case .provision(let provision): members = provision.members
        case .revoked(let sequence, let session, let reason):
            members = [
                "type": .string("session.revoked"), "seq": .integer(sequence),
                "sessionId": .string(session.description), "reason": .string(reason),
            ]
        case .updated(let sequence, let session, let scope):
            members = [
                "type": .string("session.updated"), "seq": .integer(sequence),
                "session": session.json,
            ]
            members["scope"] = scope?.json
        case .command(let command): members = command.members
        case .reply(let reply): members = reply.members
        case .unknown: members = ["type": .string("unknown")]
        }
        members["id"] = .string(id.description)
        members["iat"] = .time(issuedAt)
        return JSONValue.object(members).bytes
    }
}

/// A public key that verifies access tokens, with its key id.
package struct SigningKey: Hashable, Sendable {
    package let kid: KeyID
    /// The raw Ed25519 public key, 32 bytes.
    package let key: [UInt8]

    package init(kid: KeyID, key: [UInt8]) {
        self.kid = kid
        self.key = key
    }

    package init(json: JSONObject) throws(WireError) {
        kid = try json.parsed("kid", KeyID.init)
        key = try json.bytes("x", count: 32)
    }

    package var json: JSONValue {
        .object(["kid": .string(kid.description), "x": .string(Base64URL.encode(key))])
    }
}

extension JSONObject {
    /// 1 to 16 signing keys.
    func signingKeys(_ name: String) throws(WireError) -> [SigningKey] {
        let values = try required(name) { $0.asArray }
        guard (1...16).contains(values.count) else { throw .mistyped(name) }
        var keys: [SigningKey] = []
        for value in values {
            guard let members = value.asObject else { throw .mistyped(name) }
            keys.append(try SigningKey(json: JSONObject(members)))
        }
        return keys
    }
}
