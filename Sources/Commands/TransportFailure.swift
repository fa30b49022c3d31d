import AsyncHTTPClient
import LinuxIO
import NIOCore
import NIOPosix
import NIOSSL

/// Names the layer on which a request was lost.
enum TransportFailure {
    static func sort(_ error: any Error, at url: AuthorityURL) -> CommandFailure {
        switch error {
        case let error as NIOConnectionError: connection(error)
        case let error as IOError:
            .offline(layer: "TCP", text: "\(url): \(SystemError.text(error.errnoCode))")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            .offline(layer: "TLS", text: "no trust in \(url), or no agreement with it: "
                + reason(ofTLS: "\(error)"))
        case is NIOTooManyBytesError:
            .failed(layer: "HTTP", text: "the answer is too long")
        case is CancellationError: .failed(layer: "HTTP", text: "interrupted")
        case let error as HTTPClientError: http(error, at: url)
        default: .failed(layer: "HTTP", text: "the exchange broke off: \(type(of: error))")
        }
    }

    /// BoringSSL's words have a place in its own source; what people meet most has words of ours.
    private static func reason(ofTLS text: String) -> String {
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return "nobody whom this machine knows vouches for its certificate; for an authority "
                + "with a CA of its own: --ca-fingerprint, which `postern-authority tls show` has"
        }
        if text.contains("CERTIFICATE_REQUIRED") || text.contains("HANDSHAKE_FAILURE") {
            return "it may ask for a certificate of yours: --certificate and --key"
        }
        return Printable.line(String(text.prefix { $0 != "[" }))
    }

    private static func connection(_ error: NIOConnectionError) -> CommandFailure {
        if let first = error.connectionErrors.first {
            return .offline(
                layer: "TCP", text: "\(error.host) port \(error.port): \(reason(first.error))")
        }
        return .offline(layer: "name lookup", text: "\(error.host) has no address")
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: SystemError.text(error.errnoCode)
        case is ChannelError: "no answer in time"
        default: "no connection"
        }
    }

    private static func http(_ error: HTTPClientError, at url: AuthorityURL) -> CommandFailure {
        if error == .connectTimeout {
            return .offline(layer: "TCP", text: "\(url): no answer in time")
        }
        if error == .tlsHandshakeTimeout {
            return .offline(layer: "TLS", text: "\(url): no handshake in time")
        }
        if error == .deadlineExceeded || error == .readTimeout {
            return .offline(layer: "HTTP", text: "\(url): no answer in time")
        }
        if error == .remoteConnectionClosed {
            return .offline(layer: "HTTP", text: "\(url) closed the connection")
        }
        return .failed(layer: "HTTP", text: error.shortDescription)
    }
}
