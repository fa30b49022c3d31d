import Sessions
import Wire

/// The usable signing keys of a provider, from its JWK Set.
///
/// Source: RFC 7517 §5; RFC 8725 §3.
package struct IdentityKeySet: Equatable, Sendable {
    /// The maximum size of a set in bytes, and the maximum number of keys that are read.
    package static let limit = 64 * 1024
    package static let most = 64

    package struct Entry: Equatable, Sendable {
        package let keyID: String?
        package let key: IdentityKey
    }

    package let entries: [Entry]

    /// Nil unless the text is a JWK Set with a usable key. Skips keys that cannot be used (of
    /// another kind, too short, symmetric, for encryption) and keys beyond the maximum.
    /// Source: RFC 7517 §5.
    package init?(parsing bytes: [UInt8]) {
        do throws(WireError) {
            let json = try JSONObject(parsing: bytes, limit: Self.limit)
            let keys = try json.required("keys") { $0.asArray }
            entries = keys.prefix(Self.most).compactMap { $0.asObject.flatMap(Entry.init(jwk:)) }
        } catch {
            return nil
        }
        guard !entries.isEmpty else { return nil }
    }

    /// The key that a token names. A key without a name is used only if it is the only key. A token
    /// without a name needs a set with one key.
    ///
    /// The token's `alg` must be the algorithm of the key. It selects nothing.
    /// Source: RFC 7515 §4.1.4; RFC 8725 §3.1; OpenID Connect Core §10.1.
    package func key(for header: IDTokenHeader) throws(IDTokenFault) -> IdentityKey {
        let fitting = entries.filter { entry in
            guard let name = header.keyID else { return entries.count == 1 }
            return entry.keyID == name || (entry.keyID == nil && entries.count == 1)
        }
        guard fitting.count == 1, let key = fitting.first?.key else { throw .unknownKey }
        guard header.algorithm == key.algorithm else { throw .wrongKind }
        return key
    }

    /// Whether the token's key is missing, so that loading the set again may help.
    package func lacksKey(for header: IDTokenHeader) -> Bool {
        do throws(IDTokenFault) {
            _ = try key(for: header)
            return false
        } catch {
            return error == .unknownKey
        }
    }
}

/// A public key of a provider, not yet checked by the cryptography.
package enum IdentityKey: Equatable, Sendable {
    case rsa(modulus: [UInt8], exponent: [UInt8], isPSS: Bool)
    case p256(x: [UInt8], y: [UInt8])
    case ed25519([UInt8])

    /// The key's only algorithm, with its `alg` name. Source: RFC 7518 §3.1; RFC 8037 §3.1.
    package var algorithm: String {
        switch self {
        case .rsa(_, _, let isPSS): isPSS ? "PS256" : "RS256"
        case .p256: "ES256"
        case .ed25519: "EdDSA"
        }
    }
}

extension IdentityKeySet.Entry {
    /// Nil for a key that cannot be used, or that contains its private half.
    ///
    /// Source: RFC 7517 §4 (`use`, `key_ops`, `alg`, `kid`); RFC 7518 §6; RFC 8037 §2.
    fileprivate init?(jwk: [String: JSONValue]) {
        guard jwk["use"].map({ $0 == .string("sig") }) ?? true,
            jwk["key_ops"].map({ $0.asArray?.contains(.string("verify")) ?? false }) ?? true,
            jwk["d"] == nil, jwk["k"] == nil, let key = IdentityKey(jwk: jwk),
            jwk["alg"].map({ $0 == .string(key.algorithm) }) ?? true
        else { return nil }
        if let name = jwk["kid"] {
            guard let text = name.asString, text.utf8.count <= 1024 else { return nil }
            keyID = text
        } else {
            keyID = nil
        }
        self.key = key
    }
}

extension IdentityKey {
    fileprivate init?(jwk: [String: JSONValue]) {
        func bytes(_ name: String) -> [UInt8]? {
            jwk[name]?.asString.flatMap { Base64URL.decode($0) }
        }
        switch (jwk["kty"]?.asString, jwk["crv"]?.asString) {
        case ("RSA", _):
            guard let modulus = bytes("n"), let exponent = bytes("e"), let first = modulus.first,
                first != 0, (2048...8192).contains(modulus.count * 8 - first.leadingZeroBitCount)
            else { return nil }
            self = .rsa(
                modulus: modulus, exponent: exponent, isPSS: jwk["alg"] == .string("PS256"))
        case ("EC", "P-256"):
            guard let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32 else {
                return nil
            }
            self = .p256(x: x, y: y)
        case ("OKP", "Ed25519"):
            guard let x = bytes("x"), x.count == 32 else { return nil }
            self = .ed25519(x)
        default: return nil
        }
    }
}
