import HTTPClient
import LinuxIO

/// Names the layer on which a request failed.
enum TransportFailure {
    static func sort(_ failure: HTTPFailure, at url: AuthorityURL) -> CommandFailure {
        let layer = failure.layer.rawValue
        return switch failure {
        case .noAddress: .offline(layer: layer, text: "\(url.host) has no address")
        case .noConnection(let code):
            .offline(
                layer: layer, text: "\(url.host) port \(url.port): "
                    + (code.map(SystemError.text) ?? "no connection"))
        case .notTrusted(let words): .offline(
            layer: layer, text: "\(url) is not trusted: its certificate is not signed by a CA that "
                + "this machine trusts (\(Printable.line(words))); for an authority with its own "
                + "CA use --ca-fingerprint, which `postern-authority tls show` prints")
        case .tlsRefused: .offline(
            layer: layer, text: "the TLS handshake with \(url) failed; if it asks for your "
                + "certificate, use --certificate and --key")
        case .tls(let words): .offline(
            layer: layer, text: "the TLS handshake with \(url) failed: \(Printable.line(words))")
        case .late(.tls): .offline(layer: layer, text: "\(url): no handshake in time")
        case .late: .offline(layer: layer, text: "\(url): no answer in time")
        case .closed: .offline(layer: layer, text: "\(url) closed the connection")
        case .tooLong: .failed(layer: layer, text: "the answer is too long")
        case .interrupted: .interrupted
        case .exchange(let words):
            .failed(layer: layer, text: "the exchange was interrupted: \(Printable.line(words))")
        }
    }
}
