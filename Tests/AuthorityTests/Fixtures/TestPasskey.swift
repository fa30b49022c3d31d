import AuthorityCore
import Cryptography
import Sessions
import WebAuthn

/// A passkey with an Ed25519 key, as an authenticator has it.
struct TestPasskey: Sendable {
    let id: [UInt8]
    let user: [UInt8]
    let key: Ed25519PrivateKey
    let site: RelyingParty

    /// A new passkey, and the answer that registers it.
    static func make(
        _ options: PasskeyOptions
    ) throws -> (passkey: TestPasskey, registration: PasskeyRegistration) {
        guard let user = options.user else { throw NotThat() }
        let passkey = TestPasskey(
            id: try RandomBytes.make(32), user: user.objectID.passkeyHandle,
            key: try Ed25519PrivateKey(), site: options.site)
        // A map of `fmt`, `attStmt` and `authData`, in this order.
        let data = try passkey.data(flags: 0x45, counter: 0) + passkey.credential
        let object: [UInt8] = [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8)
            + [0x67] + Array("attStmt".utf8) + [0xA0, 0x68] + Array("authData".utf8)
            + [0x58, UInt8(data.count)] + data
        return (passkey, PasskeyRegistration(
            id: passkey.id, clientData: passkey.clientData("webauthn.create", options),
            attestation: object))
    }

    func answer(
        _ options: PasskeyOptions, counter: UInt32 = 0
    ) throws -> PasskeyProof {
        let clientData = clientData("webauthn.get", options)
        let data = try data(flags: 0x05, counter: counter)
        let signature = try key.sign(data + SHA256.digest(clientData))
        return PasskeyProof(
            PasskeyAssertion(
                id: id, clientData: clientData, authenticatorData: data, signature: signature,
                userHandle: user),
            visit: options.visit)
    }

    private var credential: [UInt8] {
        [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id
            + [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20]
            + key.publicKey.rawRepresentation
    }

    private func data(flags: UInt8, counter: UInt32) throws -> [UInt8] {
        try SHA256.digest(Array(site.id.utf8)) + [flags]
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    }

    private func clientData(_ type: String, _ options: PasskeyOptions) -> [UInt8] {
        Array("""
            {"type":"\(type)","challenge":"\(Base64URL.encode(options.challenge))",\
            "origin":"\(site.origin)","crossOrigin":false}
            """.utf8)
    }
}

extension House {
    /// A passkey of this caller, who has confirmed or just logged in.
    func passkey(
        of caller: Caller, _ name: String = "phone"
    ) async throws -> (passkey: TestPasskey, record: PasskeyRecord) {
        let options = try await authority.passkeyOptions(.register, by: caller)
        let (passkey, registration) = try TestPasskey.make(options)
        let record = try await authority.addPasskey(
            PasskeyOrder(
                name: name, registration: registration, visit: options.visit, origin: "test"),
            by: caller)
        return (passkey, record)
    }

    func login(with passkey: TestPasskey, counter: UInt32 = 0) async throws -> Caller {
        let options = try await authority.passkeyOptions(.login, by: nil)
        let opened = try await authority.login(
            PasskeyLogin(try passkey.answer(options, counter: counter), origin: "test"))
        return try await authority.caller(opened.token)
    }

    func confirm(_ caller: Caller, with passkey: TestPasskey) async throws {
        let options = try await authority.passkeyOptions(.confirm, by: caller)
        try await authority.confirm(
            ConfirmationOrder(.passkey(try passkey.answer(options)), origin: "test"), by: caller)
    }
}
