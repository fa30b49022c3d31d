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
                + Printable.line("\(error)"))
        case is NIOTooManyBytesError:
            .failed(layer: "HTTP", text: "the answer is too long")
        case is CancellationError: .failed(layer: "HTTP", text: "interrupted")
        case let error as HTTPClientError: http(error, at: url)
        default: .failed(layer: "HTTP", text: "the exchange broke off: \(type(of: error))")
        }
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
