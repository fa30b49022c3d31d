import Cryptography
import Testing
import WebAuthn

@Suite("Published passkeys")
struct PublishedPasskeyTests {
    private static let site = RelyingParty(publicURL: "https://example.org")

    private func siteHash() throws -> [UInt8] {
        try SHA256.digest(Array(Self.site.id.utf8))
    }

    /// What the attestation object says, without any check.
    private func credential(
        of passkey: PublishedPasskey
    ) throws -> AuthenticatorData.NewCredential {
        let object = try CBOR(reading: bytes(passkey.attestation))
        let data = try AuthenticatorData(
            parsing: try #require(object[.text("authData")]?.asBytes))
        return try #require(data.credential)
    }

    private func isSigned(
        _ message: [UInt8], _ signature: [UInt8], by key: PasskeyKey
    ) throws -> Bool {
        switch key {
        case .p256(let x, let y): try P256PublicKey(x: x, y: y)
            .verify(der: signature, of: message)
        case .ed25519(let bytes): try Ed25519PublicKey(rawRepresentation: bytes)
            .verify(signature, of: message)
        case .rsa(let modulus, let exponent):
            try RSAPublicKey(modulus: modulus, exponent: exponent, padding: .pkcs1)
                .verify(signature, of: message)
        }
    }

    private func registration(
        of passkey: PublishedPasskey, attestation: [UInt8]? = nil
    ) throws -> PasskeyRegistration {
        PasskeyRegistration(
            id: try credential(of: passkey).id, clientData: bytes(passkey.clientData),
            attestation: attestation ?? bytes(passkey.attestation))
    }

    private func assertion(of passkey: PublishedPasskey) throws -> PasskeyAssertion {
        PasskeyAssertion(
            id: try credential(of: passkey).id, clientData: bytes(passkey.loginClientData),
            authenticatorData: bytes(passkey.authenticatorData),
            signature: bytes(passkey.signature), userHandle: nil)
    }

    @Test("have signatures that their keys verify, and no other", arguments: PublishedPasskey.all)
    func signatures(passkey: PublishedPasskey) throws {
        let assertion = try assertion(of: passkey)
        let key = try credential(of: passkey).key
        let hash = try SHA256.digest(assertion.clientData)
        let message = assertion.signedBytes(clientDataHash: hash)
        #expect(try isSigned(message, assertion.signature, by: key))
        #expect(try !isSigned(message + [0], assertion.signature, by: key))
        for place in [0, assertion.signature.count / 2, assertion.signature.count - 1] {
            var changed = assertion.signature
            changed[place] ^= 1
            #expect(try !isSigned(message, changed, by: key))
        }
        #expect(try !isSigned(message, assertion.signature + [0], by: key))
        for other in PublishedPasskey.all where other.description != passkey.description {
            let otherKey = try credential(of: other).key
            #expect(try !isSigned(message, assertion.signature, by: otherKey))
        }
    }

    @Test("are accepted or refused by our rules", arguments: PublishedPasskey.all)
    func rules(passkey: PublishedPasskey) throws {
        let registration = try registration(of: passkey)
        let assertion = try assertion(of: passkey)
        let hash = try siteHash()
        expect(passkey.registrationFault) { () throws(PasskeyFault) in
            _ = try registration.checked(
                challenge: bytes(passkey.challenge), at: Self.site, siteHash: hash)
        }
        expect(passkey.loginFault) { () throws(PasskeyFault) in
            _ = try assertion.checked(
                challenge: bytes(passkey.loginChallenge), at: Self.site, siteHash: hash)
        }
        expect(.challenge) { () throws(PasskeyFault) in
            _ = try assertion.checked(
                challenge: bytes(passkey.challenge), at: Self.site, siteHash: hash)
        }
        expect(.ceremony) { () throws(PasskeyFault) in
            try ClientData(parsing: registration.clientData)
                .check(.get, challenge: bytes(passkey.challenge), at: Self.site)
        }
    }

    /// Without an attestation nothing is signed, so the flags can be what a test needs.
    private func flagged(_ flags: UInt8) throws -> [UInt8] {
        let object = bytes(PublishedPasskey.es256.attestation)
        var data = try #require(try CBOR(reading: object)[.text("authData")]?.asBytes)
        let start = object.count - data.count
        data[32] = flags
        return Array(object[..<start]) + data
    }

    @Test("are registered with user verification, and not without what is required", arguments: [
        (0x45, nil), (0x4D, nil), (0x5D, nil), (0x41, .verification), (0x44, .presence),
        (0x55, .flags), (0x05, .malformed), (0xC5, .malformed),
    ] as [(UInt8, PasskeyFault?)])
    func flags(flags: UInt8, fault: PasskeyFault?) throws {
        let passkey = PublishedPasskey.es256
        let registration = try registration(of: passkey, attestation: try flagged(flags))
        let hash = try siteHash()
        expect(fault) { () throws(PasskeyFault) in
            let data = try registration.checked(
                challenge: bytes(passkey.challenge), at: Self.site, siteHash: hash)
            #expect(data.counter == 0)
        }
    }

    @Test("are refused at another site, and with another id")
    func places() throws {
        let passkey = PublishedPasskey.longID
        let assertion = try assertion(of: passkey)
        let (challenge, hash) = (bytes(passkey.loginChallenge), try siteHash())
        let other = RelyingParty(publicURL: "https://example.com")
        expect(.origin) { () throws(PasskeyFault) in
            _ = try assertion.checked(challenge: challenge, at: other, siteHash: hash)
        }
        expect(.origin) { () throws(PasskeyFault) in
            _ = try assertion.checked(
                challenge: challenge, at: RelyingParty(publicURL: "https://example.org:8443"),
                siteHash: hash)
        }
        expect(.site) { () throws(PasskeyFault) in
            _ = try assertion.checked(
                challenge: challenge, at: Self.site,
                siteHash: [UInt8](repeating: 0, count: 32))
        }
        let foreign = PasskeyRegistration(
            id: [1], clientData: bytes(PublishedPasskey.es256.clientData),
            attestation: try flagged(0x45))
        expect(.malformed) { () throws(PasskeyFault) in
            _ = try foreign.checked(
                challenge: bytes(PublishedPasskey.es256.challenge), at: Self.site,
                siteHash: hash)
        }
    }
}

/// Expects that `body` throws this fault; nil: none.
func expect(
    _ fault: PasskeyFault?, _ body: () throws(PasskeyFault) -> Void,
    at place: SourceLocation = #_sourceLocation
) {
    var thrown: PasskeyFault?
    do throws(PasskeyFault) { try body() } catch { thrown = error }
    #expect(thrown == fault, sourceLocation: place)
}
