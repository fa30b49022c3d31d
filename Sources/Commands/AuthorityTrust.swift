import AsyncHTTPClient
import Cryptography
import LinuxIO
import NIOSSL
import Sessions
import Wire

/// By what an authority's certificate is checked, and what it is shown in return.
struct AuthorityTrust: Equatable, Sendable {
    enum Roots: Equatable, Sendable {
        case system
        /// A file of certificates, PEM.
        case file(String)
        /// One certificate, PEM, that the login keeps.
        case pinned(String)
        /// Nobody is believed: only to fetch what is compared with a fingerprint then.
        case none
    }

    /// A certificate of ours and its key, two files of PEM.
    struct Identity: Equatable, Sendable {
        let certificateFile: String
        let keyFile: String
    }

    var roots = Roots.system
    var identity: Identity?

    /// TLS 1.2 at least. Throws `configuration` for a file that cannot be used.
    func configuration() throws(CommandFailure) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        switch roots {
        case .system: break
        case .none: tls.certificateVerification = .none
        case .file(let file):
            do {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            } catch {
                throw .configuration("\(file): no certificates can be read from it")
            }
        case .pinned(let pem):
            do {
                tls.trustRoots = .certificates(
                    try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
            } catch {
                throw .configuration("the login's CA is damaged; log in again to replace it")
            }
        }
        if let identity { try identity.put(into: &tls) }
        return tls
    }
}

extension AuthorityTrust.Identity {
    private static let limit = 64 * 1024

    fileprivate func put(into tls: inout TLSConfiguration) throws(CommandFailure) {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(
                keyFile, limit: Self.limit, strictestMode: 0o640, followsLinks: true)
        } catch {
            throw .configuration(error.description)
        }
        do {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(certificateFile)
                .map { .certificate($0) }
            // Read by our own code first, which asks nobody for a passphrase.
            let pem = try CertificateKey(pem: SecretBytes(bytes)).pem().reveal()
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: pem, format: .pem))
        } catch {
            throw .configuration(
                "\(certificateFile) and \(keyFile): no certificate and key can be read from them")
        }
    }
}

extension AuthorityClient {
    /// The authority's own CA, PEM, if it has this fingerprint. Nothing vouches for the server
    /// that gives it, so nothing is sent there.
    static func certificateAuthority(
        at url: AuthorityURL, _ fingerprint: CertificateFingerprint,
        showing identity: AuthorityTrust.Identity?
    ) async throws(CommandFailure) -> String {
        guard url.isEncrypted else {
            throw .usage("--ca-fingerprint is for an address that begins with https://")
        }
        let client = AuthorityClient(
            url: url, trust: AuthorityTrust(roots: .none, identity: identity))
        let (status, bytes) = try await client.fetch("/postern/v1/ca")
        let shown = status == 200 ? (try? Certificate.chain(pem: bytes)) ?? [] : []
        guard let found = shown.first(where: { $0.sha256 == fingerprint.bytes && $0.isRoot }),
            let pem = try? found.pem()
        else {
            throw .failed(
                layer: "TLS", text: shown.isEmpty
                    ? "\(url) has no CA of its own to give"
                    : "the CA of \(url) has another fingerprint: do not trust it")
        }
        return String(decoding: pem, as: UTF8.self)
    }
}
