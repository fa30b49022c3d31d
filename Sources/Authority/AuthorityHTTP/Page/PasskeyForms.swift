import AuthorityCore
import Sessions
import WebAuthn
import Wire

// Passkeys as a browser's `PublicKeyCredential` sends and takes them.
// Source: WebAuthn Level 3 §5.1.8 to §5.1.10.

extension Call {
    /// The member `passkey` with the cookie of the visit.
    func passkeyProof(in json: JSONObject) throws(AuthorityError) -> PasskeyProof {
        try reading { () throws(WireError) in
            PasskeyProof(
                try PasskeyAssertion(json: try json.object("passkey")), visit: passkeyVisit)
        }
    }
}

extension JSONObject {
    /// The same rule as for a board's name.
    func passkeyName() throws(WireError) -> String {
        try parsed("name") { BoardName($0)?.description }
    }

    fileprivate func base64(_ name: String) throws(WireError) -> [UInt8] {
        try parsed(name) { Base64URL.decode($0) }
    }

    /// The id of a public-key credential. `rawId` is the same.
    fileprivate func credentialID() throws(WireError) -> [UInt8] {
        guard try string("type") == "public-key" else { throw .mistyped("type") }
        let id = try base64("id")
        let raw = try optional("rawId") { $0.asString.flatMap { Base64URL.decode($0) } }
        guard raw == nil || raw == id else { throw .mistyped("rawId") }
        return id
    }
}

extension PasskeyRegistration {
    /// A RegistrationResponseJSON.
    init(json: JSONObject) throws(WireError) {
        let response = try json.object("response")
        self.init(
            id: try json.credentialID(), clientData: try response.base64("clientDataJSON"),
            attestation: try response.base64("attestationObject"))
    }
}

extension PasskeyAssertion {
    /// An AuthenticationResponseJSON.
    init(json: JSONObject) throws(WireError) {
        let response = try json.object("response")
        self.init(
            id: try json.credentialID(), clientData: try response.base64("clientDataJSON"),
            authenticatorData: try response.base64("authenticatorData"),
            signature: try response.base64("signature"),
            userHandle: try response.optional("userHandle") {
                $0.asString.flatMap { Base64URL.decode($0) }
            })
    }
}

extension PasskeyOptions {
    /// A PublicKeyCredentialCreationOptionsJSON or a PublicKeyCredentialRequestOptionsJSON.
    var form: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "challenge": .bytes(challenge), "timeout": .integer(life.milliseconds),
        ]
        let known = JSONValue.array(credentials.map { credential in
            .object(["type": .string("public-key"), "id": .bytes(credential)])
        })
        guard purpose == .register, let user else {
            members["rpId"] = .string(site.id)
            members["userVerification"] = .string("required")
            members["allowCredentials"] = known
            return members
        }
        members["rp"] = .object(["id": .string(site.id), "name": .string(siteName)])
        members["user"] = .object([
            "id": .bytes(user.objectID.passkeyHandle), "name": .string(user.username),
            "displayName": .string(user.username),
        ])
        members["pubKeyCredParams"] = .array(PasskeyKey.algorithms.map { algorithm in
            .object(["type": .string("public-key"), "alg": .integer(algorithm)])
        })
        members["excludeCredentials"] = known
        members["authenticatorSelection"] = .object([
            "residentKey": .string("required"), "requireResidentKey": .bool(true),
            "userVerification": .string("required"),
        ])
        members["attestation"] = .string("none")
        return members
    }
}

extension JSONValue {
    fileprivate static func bytes(_ bytes: [UInt8]) -> JSONValue {
        .string(Base64URL.encode(bytes))
    }
}

extension PasskeyRecord {
    var form: [String: JSONValue] {
        [
            "id": .string(id.description), "name": .string(name), "createdAt": .time(createdAt),
            "lastUsedAt": .optionalTime(lastUsedAt),
        ]
    }
}

extension LoginWays {
    var form: JSONValue {
        .object([
            "passwords": .bool(takesPasswords), "passkeys": .bool(site.problem == nil),
            "passkeyProblem": .optional(site.problem?.rawValue), "origin": .string(site.origin),
            "providers": .array(providers.map { button in
                .object([
                    "name": .string(button.name.description), "title": .string(button.title),
                    "url": .string(button.address),
                ])
            }),
        ])
    }
}
