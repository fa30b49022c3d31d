package import Cryptography
import Synchronization

/// The certificate that the console's server shows over TLS. It can be replaced while the server
/// runs; connections that begin afterwards get the new one.
package final class ConsoleCertificate: Sendable {
    private let shown: Mutex<TLSServerContext>
    private let clientAuthorities: [Certificate]?

    /// The chain begins with the server's own certificate. With client authorities, each client
    /// must show a certificate that one of them signed. Throws the OpenSSL function that failed.
    package init(
        chain: [Certificate], key: CertificateKey, clientAuthorities: [Certificate]? = nil
    ) throws(CryptographyError) {
        shown = Mutex(try TLSServerContext(chain, key, clientAuthorities: clientAuthorities))
        self.clientAuthorities = clientAuthorities
    }

    /// Open connections keep the old certificate. If this throws, nothing has changed.
    package func replace(
        chain: [Certificate], key: CertificateKey
    ) throws(CryptographyError) {
        let made = try TLSServerContext(chain, key, clientAuthorities: clientAuthorities)
        shown.withLock { $0 = made }
    }

    /// For a connection that begins now.
    var context: TLSServerContext { shown.withLock { $0 } }
}
