import AuthorityCore
import ConfigurationFiles
import Cryptography
import Foundation
import Logging
import Sessions
import Wire

@testable import AuthorityService

/// A provider of logins with a key set of its own making, in a file.
final class IDProvider: Sendable {
    static let issuer = "https://login.example"
    let name: LoginProvider
    let key: Ed25519PrivateKey
    private let folder: TemporaryFolder

    init(_ name: String = "facebook") throws {
        guard let name = LoginProvider(name) else { throw NotThat() }
        self.name = name
        key = try Ed25519PrivateKey()
        folder = try TemporaryFolder()
        try publish([Self.jwk(key.publicKey, "k1")])
    }

    var path: String { "\(folder.path)/keys.json" }
    var place: AuthoritySettings.KeySetPlace { .file(path) }

    func rule(
        signUp: Bool = true, issuer: String = IDProvider.issuer,
        entry: IdentityProvider.PageEntry? = nil
    ) -> IdentityProvider {
        IdentityProvider(
            name: name, issuer: issuer, audiences: ["us", "our-app"], letsPeopleSignUp: signUp,
            entry: entry)
    }

    func publish(_ keys: [JSONValue]) throws {
        try Data(JSONValue.object(["keys": .array(keys)]).bytes)
            .write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    static func jwk(_ key: Ed25519PublicKey, _ name: String?) -> JSONValue {
        var members: [String: JSONValue] = [
            "kty": .string("OKP"), "crv": .string("Ed25519"), "use": .string("sig"),
            "x": .string(Base64URL.encode(key.rawRepresentation)),
        ]
        members["kid"] = name.map(JSONValue.string)
        return .object(members)
    }

    /// What a good token of a person says, made at `time`.
    static func claims(of subject: String, at time: Timestamp) -> [String: JSONValue] {
        [
            "iss": .string(issuer), "sub": .string(subject), "aud": .string("us"),
            "iat": .time(time), "exp": .time(time + .seconds(600)),
            "jti": .string("\(UUID())"),
        ]
    }

    static let header: [String: JSONValue] = [
        "alg": .string("EdDSA"), "kid": .string("k1"), "typ": .string("JWT"),
    ]

    func sign(
        _ claims: [String: JSONValue], header: [String: JSONValue] = IDProvider.header,
        with other: Ed25519PrivateKey? = nil
    ) throws -> String {
        try JWS.sign(
            header: JSONValue.object(header).bytes, payload: JSONValue.object(claims).bytes,
            with: other ?? key)
    }

    func proof(_ text: String, id: String? = nil) throws -> IdentityProof {
        guard let token = IDToken(text) else { throw NotThat() }
        return IdentityProof(provider: name, token: token, id: id)
    }

    /// A fresh token of a person, good now.
    func proof(of subject: String, _ house: House) throws -> IdentityProof {
        try proof(sign(Self.claims(of: subject, at: house.clock.now)))
    }
}

extension House {
    /// The same house, which believes these providers.
    func believing(_ rules: [IdentityProvider], _ signatures: any IDTokenSignatures) -> Authority {
        reconfigured(providers: rules, signatures: signatures)
    }

    func believing(_ provider: IDProvider, signUp: Bool = true) -> Authority {
        believing(
            [provider.rule(signUp: signUp)], IDTokenCheck(testing: [provider.name: provider.place]))
    }
}

extension IDTokenCheck {
    init(testing places: [LoginProvider: AuthoritySettings.KeySetPlace]) {
        self.init(places, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}

extension Authority {
    func enter(_ proof: IdentityProof, from origin: String = "x") async throws -> LoggedIn {
        try await signUp(
            SignUp(credential: .identity(proof), installation: nil, origin: origin))
    }
}
