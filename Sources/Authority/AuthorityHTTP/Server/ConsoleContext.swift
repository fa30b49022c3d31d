import HTTPTypes
import Hummingbird
import NIOCore

/// The context of a request: its address, its connection, and its batch if it is part of one.
struct ConsoleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The peer's address without its port, for the rate limit and the audit log.
    var origin: String
    /// Whether the peer is on this machine. A proxy on this machine counts too.
    let isLoopback: Bool
    let connection: HTTPConnection
    /// The part of the batch, if the request is one.
    var part: BatchPart?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        origin = source.channel.remoteAddress?.ipAddress ?? "unknown"
        connection = HTTPConnection(channel: source.channel)
        isLoopback = origin.hasPrefix("127.") || origin == "::1"
            || origin.hasPrefix("::ffff:127.")
    }

    var maxUploadSize: Int { HTTPRoute.largeBody }
}

/// The connection of a request, with the few actions that a route may use.
struct HTTPConnection: Sendable {
    fileprivate let channel: any Channel

    /// Closes it at once; data that was not sent is lost.
    func close() { channel.close(promise: nil) }

    /// Protects it from the connection limit, because the broker asks on it.
    func keepForBroker() {
        channel.pipeline.fireUserInboundEventTriggered(ConnectionLimitHandler.IsBrokers())
    }

    /// Runs `action` once the connection is closed. From now on the connection closes as soon as
    /// the peer stops sending. Otherwise a closed peer is noticed only at the next write.
    func onceClosed(_ action: @escaping @Sendable () -> Void) {
        _ = channel.setOption(.allowRemoteHalfClosure, value: false)
        channel.closeFuture.whenComplete { _ in action() }
    }
}

/// The names of headers: Parse's own, Postern's, and some that the HTTP library does not define.
/// Source: Parse REST guide, Request format.
enum HTTPFieldName {
    static let applicationID = HTTPField.Name("X-Parse-Application-Id")
    static let sessionToken = HTTPField.Name("X-Parse-Session-Token")
    static let installationID = HTTPField.Name("X-Parse-Installation-Id")
    static let requestID = HTTPField.Name("X-Parse-Request-Id")
    static let masterKey = HTTPField.Name("X-Parse-Master-Key")
    static let clientKeys = [
        HTTPField.Name("X-Parse-REST-API-Key"), HTTPField.Name("X-Parse-Client-Key"),
        HTTPField.Name("X-Parse-JavaScript-Key"),
    ]
    /// Headers that proxies set.
    static let forwarded = [
        HTTPField.Name("Forwarded"), HTTPField.Name("X-Forwarded-For"),
        HTTPField.Name("X-Real-IP"), HTTPField.Name("Via"),
    ]
    /// A second `Host` header. The first one becomes the request's authority.
    static let secondHost = HTTPField.Name("Host")
    /// The console's page sets it on its requests.
    static let page = HTTPField.Name("X-Postern-Console")
    /// Tells nginx and other proxies to pass on each event at once.
    static let buffering = HTTPField.Name("X-Accel-Buffering")
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site")
    static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")
}
