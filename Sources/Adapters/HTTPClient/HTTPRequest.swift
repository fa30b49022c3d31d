import CCurl
package import Sessions

/// One request of a client to an HTTP server, made by libcurl over HTTP/1.1.
///
/// It follows no redirect, asks no proxy, sends no cookie and reads no file of the user's, so
/// that a token goes to `url` and nowhere else.
package struct HTTPRequest: Sendable {
    package var url: String
    package var method: String
    /// In their order. A line end in one is refused.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?
    package var trust = HTTPTrust()
    /// For the name, the connection and TLS together.
    package var connectLimit = Duration.seconds(10)
    /// For the whole exchange, to the last byte of the answer.
    package var limit = Duration.seconds(30)
    /// Bytes of the answer's body.
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

/// By what a server's certificate is checked, and what the server is shown in return.
///
/// TLS 1.2 at least. The certificate must be for the URL's host.
package struct HTTPTrust: Sendable {
    package enum Roots: Sendable {
        /// The system's store.
        case system
        /// These certificates, PEM.
        case certificates([UInt8])
        /// Nothing is checked: only for an answer that is checked in another way.
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

/// What a server answered, whatever its status.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// In their order, as the server spelt them.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    /// The value of the first header of that name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// When the server says that it answered, to a second.
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
    /// TCP: the `errno`, or nil where there is none.
    case noConnection(Int32?)
    /// The server's certificate is not signed by a trusted CA, or is for another host.
    case notTrusted(String)
    /// The server asks for a certificate and got none that it takes, or there is no cipher for
    /// both.
    case tlsRefused(String)
    /// Any other failure of TLS.
    case tls(String)
    /// The limit ended at this layer.
    case late(Layer)
    /// The body is longer than the request allows.
    case tooLong
    /// The server ended the connection before its answer ended.
    case closed
    /// The task was cancelled.
    case interrupted
    /// A failure in HTTP: libcurl's words.
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
