import AgentService
import Cryptography
import Foundation
import Sessions
import Testing
import Wire

/// A board's folder with a prepared claim's file, and the claim in it.
struct ClaimFixture {
    static let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970) * 1000)

    let folder: TemporaryFolder
    let secret: String
    let authority: CertificateAuthority
    private let key: X25519PrivateKey
    private let id: InstallationID

    init() throws {
        folder = try TemporaryFolder()
        let bytes = try RandomBytes.make(32)
        secret = Base64URL.encode(bytes)
        key = try X25519PrivateKey()
        id = InstallationID(random: try RandomBytes.make(16))
        authority = try CertificateAuthority(
            commonName: "test", now: Self.now, lifetime: .seconds(86_400))
    }

    /// The file's members; a test may spoil them.
    func members(
        broker: String = "mqtts://broker.example", id: InstallationID? = nil,
        expires: Duration = .seconds(30 * 86_400), withCA: Bool = true
    ) throws -> [String: JSONValue] {
        let certificate = authority.certificate
        let ca = PreparedClaimFile.CertificateAuthority(
            pem: String(decoding: try certificate.pem(), as: UTF8.self),
            fingerprint: try #require(CertificateFingerprint(bytes: certificate.sha256)))
        let file = PreparedClaimFile(
            id: id ?? self.id, secret: SecretBytes(try #require(Base64URL.decode(secret))),
            name: "barn-1", broker: try BrokerURI(broker), ca: withCA ? ca : nil,
            sealKey: key.publicKey.rawRepresentation, authority: "Home",
            expiresAt: Self.now + expires)
        return try JSONObject(parsing: file.reveal()).members
    }

    func write(
        _ members: [String: JSONValue], mode: Int = 0o600, to name: String = "claim"
    ) throws {
        try folder.write(name, JSONValue.object(members).text, mode: mode)
    }

    /// An `agent.toml` whose state is in the folder.
    func configure(_ text: String = "[uplink]\nuri = \"mqtts://broker.example\"\n") throws {
        try folder.write("agent.toml", """
            state_dir = "\(folder.path)/state"
            run_dir = "\(folder.path)/run"
            \(text)
            """)
    }

    var file: ClaimFile? {
        ClaimFile.places(configDir: folder.path, stateDir: nil).first(where: \.isThere)
    }

    func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }

    func has(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(folder.path)/\(name)")
    }
}
