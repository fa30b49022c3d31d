package import AuthorityCore
package import ConfigurationFiles
package import Cryptography
import LinuxIO
import Sessions

/// A server's certificate, the chain that signed it, and its key.
package struct ServerCertificate: Sendable {
    /// The server's own certificate is first.
    package let chain: [Certificate]
    let key: CertificateKey

    /// Throws `malformed` if the first certificate does not match the key.
    init(chain: [Certificate], key: CertificateKey) throws(CryptographyError) {
        guard let own = chain.first, own.fits(key) else { throw .malformed }
        self.chain = chain
        self.key = key
    }

    private static let limit = 256 * 1024
    /// A key file may be readable for its owner, and at most for one group.
    private static let keyMode: UInt32 = 0o640

    /// Reads both files, which may be the same. It follows links, because certbot uses links.
    package static func read(_ files: TLSIdentity) throws(AuthorityError) -> ServerCertificate {
        let isOne = files.certificateFile == files.keyFile
        let key = try read(files.keyFile, mode: keyMode)
        let chain = isOne ? key : try readPublic(files.certificateFile)
        do throws(CryptographyError) {
            return try ServerCertificate(
                chain: Certificate.chain(pem: chain), key: CertificateKey(pem: SecretBytes(key)))
        } catch {
            throw .failed(
                layer: "TLS", text: isOne ? "\(files.keyFile) has no certificate of its key"
                    : "\(files.certificateFile) has no certificate of the key in "
                        + files.keyFile)
        }
    }

    /// Reads certificates, which all users may read but only the owner may change.
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

    /// Whether it must be renewed: it is of another CA, lacks one of the hosts, or has less than
    /// `rest` left.
    func isDue(
        under authority: Certificate, for hosts: [CertificateHost], at now: Timestamp
    ) -> Bool {
        guard let own = chain.first else { return true }
        return !isUsable(under: authority, for: hosts) || own.notAfter - now < Self.rest
    }

    /// Whether it can be used, apart from its validity time.
    func isUsable(under authority: Certificate, for hosts: [CertificateHost]) -> Bool {
        guard let own = chain.first, chain.last?.sha256 == authority.sha256 else { return false }
        return authority.signed(own) && hosts.allSatisfy(own.covers)
    }

    /// The lifetime of the authority's own certificates, and the rest at which they are renewed.
    static let lifetime = Duration.seconds(90 * 86_400)
    static let rest = Duration.seconds(30 * 86_400)
}
