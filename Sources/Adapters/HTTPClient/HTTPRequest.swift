import CCurl
package import Sessions

/// One HTTP/1.1 request to a server, sent with libcurl.
///
/// It follows no redirect, uses no proxy, sends no cookie and reads none of the user's files. So a
/// token goes to `url` and nowhere else.
package struct HTTPRequest: Sendable {
    package var url: String
    package var method: String
    /// The headers in order. A line end in a header is refused.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?
    package var trust = HTTPTrust()
    /// The time limit for name lookup, connection and TLS together.
    package var connectLimit = Duration.seconds(10)
    /// The time limit for the whole exchange, to the last byte of the answer.
    package var limit = Duration.seconds(30)
    /// The largest body of an answer, in bytes.
    package var answerLimit = 1024 * 1024

    package init(
        _ method: String = "GET", _ url: String,
        headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// How to check a server's certificate, and which certificate to show to the server.
///
/// TLS 1.2 at least. The certificate must be for the URL's host.
package struct HTTPTrust: Sendable {
    package enum Roots: Sendable {
        /// The system's store.
        case system
        /// These certificates, PEM.
        case certificates([UInt8])
        /// Nothing is checked. Use it only if the answer is checked in another way.
        case unchecked
    }

    package var roots = Roots.system
    /// A certificate with its chain, and its key, both PEM.
    package var identity: (chain: [UInt8], key: SecretBytes)?

    package init(roots: Roots = .system, identity: (chain: [UInt8], key: SecretBytes)? = nil) {
        self.roots = roots
        self.identity = identity
    }
}

/// A server's answer, with any status.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// The headers in order, in the server's spelling.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    /// The value of the first header of that name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The server's own time of the answer, to a second. Nil without a valid `Date` header.
    ///
    /// Source: RFC 9110 §6.6.1. The corresponding C function is `curl_getdate`.
    package var date: Timestamp? {
        guard let text = header("Date") else { return nil }
        let seconds = unsafe curl_getdate(text, nil)
        return seconds < 0 ? nil : Timestamp(seconds: Int64(seconds))
    }
}

/// Why there was no answer, by the layer that failed.
package enum HTTPFailure: Error, Equatable, Sendable {
    package enum Layer: String, Sendable {
        case lookup = "name lookup"
        case tcp = "TCP"
        case tls = "TLS"
        case http = "HTTP"
    }

    /// The host has no address.
    case noAddress
    /// TCP failed, with its `errno`, or nil if there is none.
    case noConnection(Int32?)
    /// The server's certificate is not signed by a trusted CA, or is for another host.
    case notTrusted(String)
    /// The server asked for a certificate and did not accept ours, or there is no common cipher.
    case tlsRefused(String)
    /// Any other failure of TLS.
    case tls(String)
    /// The time limit ended at this layer.
    case late(Layer)
    /// The body is longer than the request allows.
    case tooLong
    /// The server ended the connection before its answer ended.
    case closed
    /// The task was cancelled.
    case interrupted
    /// A failure in HTTP, in libcurl's words.
    case exchange(String)

    package var layer: Layer {
        switch self {
        case .noAddress: .lookup
        case .noConnection: .tcp
        case .notTrusted, .tlsRefused, .tls: .tls
        case .late(let layer): layer
        case .tooLong, .closed, .interrupted, .exchange: .http
        }
    }
}
