package import AuthorityCore
package import ConfigurationFiles
package import Cryptography
import LinuxIO
package import Sessions
package import Wire

/// The folder `tls` of an authority that makes its own certificates. `ca.pem` is public. `ca.key`
/// is wrapped by the master key, so a copy of the folder can sign nothing. Each server has one file
/// with its key and chain, which is replaced as a whole.
package struct CertificateFolder: Sendable {
    let path: String

    package enum Server: String, CaseIterable, Sendable {
        case broker
        case page = "http"
    }

    /// 25 years, because a board is paired once.
    private static let authorityLifetime = Duration.seconds(9131 * 86_400)
    private static let keyPlace = "tls/ca.key"

    package var authorityFile: String { "\(path)/ca.pem" }
    private var authorityKeyFile: String { "\(path)/ca.key" }
    var isFounded: Bool { PrivateFile.isThere(authorityFile) }

    package func files(of server: Server) -> TLSIdentity {
        let file = "\(path)/\(server.rawValue).pem"
        return TLSIdentity(certificateFile: file, keyFile: file)
    }

    /// Makes a CA if there is none. After an interrupted attempt it starts again.
    package func found(
        name: String, wrapping master: MasterKey, at now: Timestamp
    ) throws {
        guard !isFounded else { return }
        try PrivateFolder.prepare(path)
        let authority = try CertificateAuthority(
            commonName: "Postern CA of \(name)", now: now, lifetime: Self.authorityLifetime)
        let key = try master.wrap(authority.key.pem(), place: Self.keyPlace)
        // The certificate is written last: if it exists, the CA is complete.
        try PrivateFile.write(authorityKeyFile, key)
        try PrivateFile.write(authorityFile, authority.certificate.pem(), mode: 0o644)
    }

    /// The CA's certificate, which is public.
    package func certificate() throws(AuthorityError) -> Certificate {
        let pem: [UInt8]
        do throws(FileFailure) {
            pem = try PrivateFile.read(authorityFile, limit: 16 * 1024, strictestMode: 0o644)
        } catch {
            guard case .missing = error else { throw .failed(layer: "TLS", text: "\(error)") }
            throw .failed(
                layer: "TLS", text: "there is no CA in \(path): run `postern-authority tls renew` "
                    + "to make one; if boards know a CA already, restore the folder from a backup")
        }
        return try Self.certificate(pem, authorityFile)
    }

    private static func certificate(
        _ pem: [UInt8], _ file: String
    ) throws(AuthorityError) -> Certificate {
        guard let one = try? Certificate.chain(pem: pem).first, one.isRoot else {
            throw .failed(
                layer: "TLS", text: "\(file) is not a CA certificate; restore it from a backup")
        }
        return one
    }

    /// The CA with its key.
    package func authority(
        wrapping master: MasterKey
    ) throws(AuthorityError) -> CertificateAuthority {
        let certificate = try certificate()
        let wrapped: [UInt8]
        do throws(FileFailure) {
            wrapped = try PrivateFile.read(authorityKeyFile, limit: 16 * 1024)
        } catch {
            throw .failed(layer: "TLS", text: "\(error)")
        }
        let pem = try master.unwrap(wrapped, place: Self.keyPlace)
        do throws(CryptographyError) {
            return try CertificateAuthority(
                certificate: certificate, key: CertificateKey(pem: pem))
        } catch {
            throw .failed(
                layer: "TLS", text: "\(authorityKeyFile) is not the key of \(authorityFile)")
        }
    }

    /// Makes a new key and a new certificate for a server, and replaces the old ones.
    package func issue(
        _ server: Server, by authority: CertificateAuthority, for hosts: [CertificateHost],
        at now: Timestamp
    ) throws(AuthorityError) {
        do {
            let key = try CertificateKey()
            let request = CertificateRequest(
                .server(hosts), commonName: hosts.first?.text ?? server.rawValue, now: now,
                lifetime: ServerCertificate.lifetime)
            let chain = [try authority.issue(request, for: key), authority.certificate]
            let made = try ServerCertificate(chain: chain, key: key)
            let text = try key.pem().reveal() + made.chainPEM()
            try PrivateFile.write(files(of: server).keyFile, text)
        } catch {
            throw .failed(
                layer: "TLS", text: "the \(server)'s certificate could not be made: \(error)")
        }
    }

    /// The names in each certificate: the configured ones first, then this machine.
    package static func hosts(_ configured: [String]) throws(AuthorityError) -> [CertificateHost] {
        var hosts: [CertificateHost] = []
        for text in configured + ["localhost", "127.0.0.1", "::1"] {
            guard let host = CertificateHost(text) else {
                throw .failed(
                    layer: "TLS", text: "tls.hosts: \(text) is not a host name or address")
            }
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }
}

extension Certificate {
    package var fingerprint: CertificateFingerprint? { CertificateFingerprint(bytes: sha256) }
}
