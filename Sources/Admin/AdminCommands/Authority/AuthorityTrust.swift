import Cryptography
import HTTPClient
import LinuxIO
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

    /// What the files hold. Throws `configuration` for one that cannot be used.
    func read() throws(CommandFailure) -> HTTPTrust {
        var read = HTTPTrust()
        switch roots {
        case .system: break
        case .none: read.roots = .unchecked
        case .file(let file):
            let pem = try Self.read(file, mode: 0o755)
            guard Self.holdsCertificates(pem) else {
                throw .configuration("\(file): no certificates can be read from it")
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
            // Read by our own code first, which asks nobody for a passphrase.
            guard Self.holdsCertificates(chain),
                let key = try? CertificateKey(pem: SecretBytes(bytes)).pem()
            else {
                throw .configuration(
                    "\(identity.certificateFile) and \(identity.keyFile): no certificate and "
                        + "key can be read from them")
            }
            read.identity = (chain, key)
        }
        return read
    }

    /// As many as a bundle of the whole Web's authorities has, and some more.
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
        let answer = try await client.fetch("/postern/v1/ca")
        let shown = answer.status == 200 ? (try? Certificate.chain(pem: answer.body)) ?? [] : []
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
