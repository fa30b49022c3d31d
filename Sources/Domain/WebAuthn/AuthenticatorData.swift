/// What an authenticator says and signs: for which site, whether a person was there, and with which
/// counter. At a registration it also has the new credential.
///
/// Source: WebAuthn Level 2 §6.1; Level 3 §6.1.3 for the flags of backups.
package struct AuthenticatorData: Equatable, Sendable {
    /// SHA-256 of the RP id.
    package let siteHash: [UInt8]
    package let flags: Flags
    package let counter: UInt32
    package let credential: NewCredential?

    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let userPresent = Flags(rawValue: 0x01)
        package static let userVerified = Flags(rawValue: 0x04)
        package static let backupEligible = Flags(rawValue: 0x08)
        package static let backedUp = Flags(rawValue: 0x10)
        static let credential = Flags(rawValue: 0x40)
        static let extensions = Flags(rawValue: 0x80)
    }

    /// A credential that was just made.
    package struct NewCredential: Equatable, Sendable {
        /// 1 to 1023 bytes.
        package let id: [UInt8]
        package let key: PasskeyKey
        /// The bytes of the COSE_Key, to store.
        package let coseKey: [UInt8]
    }

    /// The largest input, in bytes.
    package static let limit = CBOR.limit
    private static let headCount = 37

    /// Throws unless `bytes` are all read, with the extensions that the flags announce.
    package init(parsing bytes: [UInt8]) throws(PasskeyFault) {
        guard (Self.headCount...Self.limit).contains(bytes.count) else { throw .malformed }
        siteHash = Array(bytes[..<32])
        flags = Flags(rawValue: bytes[32])
        counter = bytes[33..<Self.headCount].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[Self.headCount...]
        credential = flags.contains(.credential) ? try NewCredential(taking: &rest) : nil
        if flags.contains(.extensions) {
            var reader = CBORReader(rest)
            do throws(CBOR.Fault) {
                guard try reader.value().mapCount != nil else { throw .unsupported }
            } catch {
                throw .malformed
            }
            rest = reader.rest
        }
        guard rest.isEmpty else { throw .malformed }
    }

    /// Checks the site and the flags, in the order of the standard. User verification is required.
    ///
    /// Source: WebAuthn Level 2 §7.1, steps 13 to 15, and §7.2, steps 15 to 17.
    package func check(siteHash expected: [UInt8]) throws(PasskeyFault) {
        guard siteHash == expected else { throw .site }
        guard flags.contains(.userPresent) else { throw .presence }
        guard flags.contains(.userVerified) else { throw .verification }
        guard !flags.contains(.backedUp) || flags.contains(.backupEligible) else {
            throw .flags
        }
    }
}

extension AuthenticatorData.NewCredential {
    /// Takes the AAGUID, the id and the key. Source: WebAuthn Level 2 §6.5.1.
    fileprivate init(taking rest: inout ArraySlice<UInt8>) throws(PasskeyFault) {
        guard rest.count >= 18 else { throw .malformed }
        let count = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard (1...1023).contains(count), count <= rest.count else { throw .malformed }
        id = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        var reader = CBORReader(rest)
        let value: CBOR
        do throws(CBOR.Fault) { value = try reader.value() } catch { throw .malformed }
        key = try PasskeyKey(value)
        coseKey = Array(rest[..<reader.rest.startIndex])
        rest = reader.rest
    }
}
