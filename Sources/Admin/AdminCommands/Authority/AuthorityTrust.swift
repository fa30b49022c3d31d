import Cryptography
import HTTPClient
import LinuxIO
import Sessions
import Wire

/// The roots that check an authority's certificate, and the certificate that this side shows.
struct AuthorityTrust: Equatable, Sendable {
    enum Roots: Equatable, Sendable {
        case system
        /// A file of PEM certificates.
        case file(String)
        /// One PEM certificate, saved with the login.
        case pinned(String)
        /// No check: only to fetch a certificate that is then compared with a fingerprint.
        case none
    }

    /// Our certificate and its key, in two PEM files.
    struct Identity: Equatable, Sendable {
        let certificateFile: String
        let keyFile: String
    }

    var roots = Roots.system
    var identity: Identity?

    /// Reads the files. Throws `configuration` for a file that cannot be used.
    func read() throws(CommandFailure) -> HTTPTrust {
        var read = HTTPTrust()
        switch roots {
        case .system: break
        case .none: read.roots = .unchecked
        case .file(let file):
            let pem = try Self.read(file, mode: 0o755)
            guard Self.holdsCertificates(pem) else {
                throw .configuration("\(file): it contains no readable certificate")
            }
            read.roots = .certificates(pem)
        case .pinned(let pem):
            let pem = Array(pem.utf8)
            guard Self.holdsCertificates(pem) else {
                throw .configuration("the login's CA is damaged; log in again to replace it")
            }
            read.roots = .certificates(pem)
        }
        if let identity {
            let chain = try Self.read(identity.certificateFile, mode: 0o755)
            let bytes = try Self.read(identity.keyFile, mode: 0o640)
            // Check the files with our own code first: it never asks for a passphrase.
            guard Self.holdsCertificates(chain),
                let key = try? CertificateKey(pem: SecretBytes(bytes)).pem()
            else {
                throw .configuration(
                    "\(identity.certificateFile) and \(identity.keyFile): the certificate or "
                        + "the key cannot be read")
            }
            read.identity = (chain, key)
        }
        return read
    }

    /// The limit is above the number of CAs on the whole Web.
    private static func holdsCertificates(_ pem: [UInt8]) -> Bool {
        (try? Certificate.chain(pem: pem, atMost: 1000)) != nil
    }

    private static func read(_ file: String, mode: UInt32) throws(CommandFailure) -> [UInt8] {
        do throws(FileFailure) {
            return try PrivateFile.read(
                file, limit: 4 * 1024 * 1024, strictestMode: mode, followsLinks: true)
        } catch {
            throw .configuration(error.description)
        }
    }
}

extension AuthorityClient {
    /// Fetches the authority's own CA, in PEM, if it has this fingerprint. The server is not yet
    /// trusted, so no secret is sent to it.
    static func certificateAuthority(
        at url: AuthorityURL, _ fingerprint: CertificateFingerprint,
        showing identity: AuthorityTrust.Identity?
    ) async throws(CommandFailure) -> String {
        guard url.isEncrypted else {
            throw .usage("--ca-fingerprint is for an address that begins with https://")
        }
        let client = AuthorityClient(
            url: url, trust: AuthorityTrust(roots: .none, identity: identity))
        let answer = try await client.fetch("/postern/v1/ca")
        let shown = answer.status == 200 ? (try? Certificate.chain(pem: answer.body)) ?? [] : []
        guard let found = shown.first(where: { $0.sha256 == fingerprint.bytes && $0.isRoot }),
            let pem = try? found.pem()
        else {
            throw .failed(
                layer: "TLS", text: shown.isEmpty
                    ? "\(url) has no CA of its own; log in without --ca-fingerprint"
                    : "the CA of \(url) has another fingerprint: do not trust it")
        }
        return String(decoding: pem, as: UTF8.self)
    }
}
