import COpenSSL
import LinuxIO
package import Wire

/// Fetches an authority's own CA from the server itself. It is trusted because a person compared
/// its fingerprint.
package enum CertificateFetch {
    /// Returns the server's CA certificate that has this fingerprint, as PEM.
    ///
    /// Nothing else about that server is trusted: no name, date or signature is checked. Only a TLS
    /// handshake is sent. A later connection verifies against the returned certificate. The call
    /// blocks for at most `timeout`, including the name lookup.
    ///
    /// Throws `invalid` for an address without TLS, and `nameLookup`, `tcp` or `tls` for a
    /// connection that fails. It also throws `tls` if the server shows no self-signed CA with that
    /// fingerprint: the CA is another one, or the chain lacks it.
    package static func authority(
        of uri: BrokerURI, fingerprint: CertificateFingerprint,
        timeout: Duration = .seconds(10)
    ) throws(MQTTError) -> String {
        guard uri.scheme == .mqtts else {
            throw .invalid("\(uri) does not use TLS, so it has no certificate")
        }
        let end = SystemClock.monotonic + timeout
        var failure = MQTTError.nameLookup("no address")
        for address in try addresses(of: uri.host, until: end).prefix(8) {
            let socket: DialedSocket
            do throws(SystemError) {
                socket = try DialedSocket(
                    address: address, port: uri.port,
                    patience: max(end - SystemClock.monotonic, .zero))
            } catch {
                failure = .tcp("\(address) port \(uri.port): \(error.text)")
                continue
            }
            let probe = try ChainProbe(over: socket, host: uri.host)
            return try probe.authority(fingerprint, until: end)
        }
        throw failure
    }

    private static func addresses(
        of host: String, until end: Duration
    ) throws(MQTTError) -> [String] {
        let outcome: HostLookup.Outcome
        do throws(SystemError) {
            let lookup = try HostLookup(host)
            var poller = Poller()
            poller.add(lookup.descriptor, read: true, write: false)
            _ = try poller.wait(max(end - SystemClock.monotonic, .zero))
            outcome = lookup.outcome
        } catch {
            throw .nameLookup("\(error)")
        }
        return switch outcome {
        case .found(let addresses): addresses
        case .failed(let text): throw .nameLookup("\(host): \(text)")
        case .pending: throw .nameLookup("\(host): no answer in time")
        }
    }
}
