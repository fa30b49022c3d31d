import Sessions

/// A browser's answer to a registration, in the parts that count. Nothing in it is checked yet.
package struct PasskeyRegistration: Sendable {
    /// The credential's id as the browser names it.
    package let id: [UInt8]
    package let clientData: [UInt8]
    package let attestation: [UInt8]

    package init(id: [UInt8], clientData: [UInt8], attestation: [UInt8]) {
        self.id = id
        self.clientData = clientData
        self.attestation = attestation
    }

    /// Checks all that the answer says, and returns the authenticator's data, which has the
    /// credential. The attestation must be `none`, so there is no signature to verify.
    ///
    /// `siteHash` is the SHA-256 of the RP id. Source: WebAuthn Level 2 §7.1, steps 5 to 20, and
    /// §8.7.
    package func checked(
        challenge: [UInt8], at site: RelyingParty, siteHash: [UInt8]
    ) throws(PasskeyFault) -> AuthenticatorData {
        try ClientData(parsing: clientData).check(.create, challenge: challenge, at: site)
        let object: CBOR
        do throws(CBOR.Fault) {
            object = try CBOR(reading: attestation)
        } catch {
            throw .malformed
        }
        guard object.mapCount == 3, case .text(let format)? = object[.text("fmt")],
            let statement = object[.text("attStmt")]?.mapCount,
            let bytes = object[.text("authData")]?.asBytes
        else { throw .malformed }
        let data = try AuthenticatorData(parsing: bytes)
        try data.check(siteHash: siteHash)
        guard format == "none", statement == 0 else { throw .attestation }
        guard data.credential?.id == id else { throw .malformed }
        return data
    }
}

/// A browser's answer to a login or a confirmation. Nothing in it is checked yet.
package struct PasskeyAssertion: Sendable {
    package let id: [UInt8]
    package let clientData: [UInt8]
    package let authenticatorData: [UInt8]
    package let signature: [UInt8]
    /// The id of the user as the authenticator keeps it. Nil: the browser sent none.
    package let userHandle: [UInt8]?

    package init(
        id: [UInt8], clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8],
        userHandle: [UInt8]?
    ) {
        self.id = id
        self.clientData = clientData
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
    }

    /// Checks all but the signature, and returns the authenticator's data.
    ///
    /// `siteHash` is the SHA-256 of the RP id. Source: WebAuthn Level 2 §7.2, steps 8 to 18.
    package func checked(
        challenge: [UInt8], at site: RelyingParty, siteHash: [UInt8]
    ) throws(PasskeyFault) -> AuthenticatorData {
        try ClientData(parsing: clientData).check(.get, challenge: challenge, at: site)
        let data = try AuthenticatorData(parsing: authenticatorData)
        try data.check(siteHash: siteHash)
        // Only a registration has a credential. Source: WebAuthn Level 2 §6.1.
        guard data.credential == nil else { throw .malformed }
        return data
    }

    /// The bytes that the passkey signed. `hash` is the SHA-256 of `clientData`.
    ///
    /// Source: WebAuthn Level 2 §7.2, steps 19 and 20.
    package func signedBytes(clientDataHash hash: [UInt8]) -> [UInt8] { authenticatorData + hash }
}

extension AuthenticatorData {
    /// Whether the counter shows a copy of the passkey, beside the counter of its last use. An
    /// authenticator without a counter always says 0. Source: WebAuthn Level 2 §7.2, step 21.
    package func isCloned(after last: UInt32) -> Bool {
        (counter != 0 || last != 0) && counter <= last
    }
}
