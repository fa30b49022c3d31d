import AuthorityCore
import ConfigurationFiles
import Cryptography
import LinuxIO
import Sessions

/// What a server shows: its certificate, what signed that, and its key.
struct ServerCertificate: Sendable {
    /// The server's own first.
    let chain: [Certificate]
    let key: CertificateKey

    /// Throws `malformed` unless the first certificate is the key's.
    init(chain: [Certificate], key: CertificateKey) throws(CryptographyError) {
        guard let own = chain.first, own.fits(key) else { throw .malformed }
        self.chain = chain
        self.key = key
    }

    private static let limit = 256 * 1024
    /// A key is for its user, and at most for a group that he gave it to.
    private static let keyMode: UInt32 = 0o640

    /// Reads both files, which may be one. Links are followed, as those of certbot are.
    static func read(_ files: TLSIdentity) throws(AuthorityError) -> ServerCertificate {
        let isOne = files.certificateFile == files.keyFile
        let key = try read(files.keyFile, mode: keyMode)
        let chain = isOne ? key : try readPublic(files.certificateFile)
        do throws(CryptographyError) {
            return try ServerCertificate(
                chain: Certificate.chain(pem: chain), key: CertificateKey(pem: SecretBytes(key)))
        } catch {
            throw .failed(
                layer: "TLS", text: isOne ? "\(files.keyFile) holds no certificate with its key"
                    : "\(files.certificateFile) holds no certificate of the key in "
                        + files.keyFile)
        }
    }

    /// Certificates, which everyone may see and nobody else may change.
    static func readPublic(_ file: String) throws(AuthorityError) -> [UInt8] {
        try read(file, mode: 0o755)
    }

    private static func read(_ file: String, mode: UInt32) throws(AuthorityError) -> [UInt8] {
        do throws(FileFailure) {
            return try PrivateFile.read(
                file, limit: limit, strictestMode: mode, followsLinks: true)
        } catch {
            throw .failed(layer: "TLS", text: "\(error)")
        }
    }

    func chainPEM() throws(CryptographyError) -> [UInt8] {
        var text: [UInt8] = []
        for certificate in chain { text += try certificate.pem() }
        return text
    }

    /// Whether it is to be made anew: not of that authority, not for all of these hosts, or
    /// near its end.
    func isDue(
        under authority: Certificate, for hosts: [CertificateHost], at now: Timestamp
    ) -> Bool {
        guard let own = chain.first else { return true }
        return !isUsable(under: authority, for: hosts) || own.notAfter - now < Self.rest
    }

    /// Whether it serves at all, whatever the time.
    func isUsable(under authority: Certificate, for hosts: [CertificateHost]) -> Bool {
        guard let own = chain.first, chain.last?.sha256 == authority.sha256 else { return false }
        return authority.signed(own) && hosts.allSatisfy(own.covers)
    }

    /// How long one of ours lives, and how much of that must be left.
    static let lifetime = Duration.seconds(90 * 86_400)
    static let rest = Duration.seconds(30 * 86_400)
}
