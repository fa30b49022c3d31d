import COpenSSL
import LinuxIO
package import Wire

/// The first trust in an authority's own CA: taken from what the server itself shows, because
/// a person compared its fingerprint.
package enum CertificateFetch {
    /// The CA certificate, PEM, that the server at `uri` shows and that has this fingerprint.
    ///
    /// Nothing else is believed of that server: no name, no date, no signature is checked, and
    /// nothing is sent to it but a TLS handshake. A later connection verifies against what this
    /// returns. It blocks `timeout` at most, the name lookup included.
    ///
    /// Throws `invalid` for an address without TLS; `nameLookup`, `tcp` or `tls` for a way that
    /// fails; `tls` too where the server shows no self-signed CA of that fingerprint, whether
    /// it is another's or was left out of its chain.
    package static func authority(
        of uri: BrokerURI, fingerprint: CertificateFingerprint,
        timeout: Duration = .seconds(10)
    ) throws(MQTTError) -> String {
        guard uri.scheme == .mqtts else {
            throw .invalid("\(uri) has no TLS, so no certificate to show")
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
