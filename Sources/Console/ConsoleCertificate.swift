package import Sessions
import NIOCore
import NIOSSL
import Synchronization

/// What the page's server shows over TLS: replaced while it serves, for each connection that
/// comes afterwards.
///
/// TLS 1.2 at least and HTTP/1.1 alone (ALPN). With client authorities, whoever connects shows a
/// certificate that one of them signed. Source: RFC 9325 §3.1.1, RFC 7301.
package final class ConsoleCertificate: Sendable {
    private struct Shown {
        var chain: [NIOSSLCertificateSource]
        var key: NIOSSLPrivateKeySource
    }

    private let shown: Mutex<Shown>
    private let clientAuthorities: [NIOSSLCertificate]?

    /// All are PEM; the server's own certificate stands first. Throws what NIOSSL says of it.
    package init(chain: [UInt8], key: SecretBytes, clientAuthorities: [UInt8]? = nil) throws {
        shown = Mutex(try Self.read(chain, key))
        self.clientAuthorities = try clientAuthorities.map(NIOSSLCertificate.fromPEMBytes)
    }

    /// Connections that stand keep what they saw. When it throws, nothing has changed.
    package func replace(chain: [UInt8], key: SecretBytes) throws {
        let read = try Self.read(chain, key)
        shown.withLock { $0 = read }
    }

    private static func read(_ chain: [UInt8], _ key: SecretBytes) throws -> Shown {
        Shown(
            chain: try NIOSSLCertificate.fromPEMBytes(chain).map { .certificate($0) },
            key: .privateKey(try NIOSSLPrivateKey(bytes: key.reveal(), format: .pem)))
    }

    var configuration: TLSConfiguration {
        let now = shown.withLock { $0 }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: now.chain, privateKey: now.key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let clientAuthorities {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(clientAuthorities)
            configuration.sendCANameList = true
        }
        configuration.sslContextCallback = { [self] _, promise in
            let now = shown.withLock { $0 }
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = now.chain
            override.privateKey = now.key
            promise.succeed(override)
        }
        return configuration
    }
}
