import HTTPTypes
import Hummingbird
import NIOCore

/// What is known of a request besides itself.
struct ConsoleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The peer's address without its port, for the rate limit and the audit log.
    var origin: String
    /// Whether the peer is on this machine; a proxy there is, too.
    let isLoopback: Bool
    let connection: Connection
    /// What is asked where it is one request of a batch.
    var part: BatchPart?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        origin = source.channel.remoteAddress?.ipAddress ?? "unknown"
        connection = Connection(channel: source.channel)
        isLoopback = origin.hasPrefix("127.") || origin == "::1"
            || origin.hasPrefix("::ffff:127.")
    }

    var maxUploadSize: Int { Route.largeBody }
}

/// What a request came by, for the one thing that a route may do with it.
struct Connection: Sendable {
    fileprivate let channel: any Channel

    /// Ends it at once; what was not sent is lost.
    func close() { channel.close(promise: nil) }

    /// Has it kept when there are too many: the broker asks on it.
    func keepForBroker() {
        channel.pipeline.fireUserInboundEventTriggered(ConnectionLimitHandler.IsBrokers())
    }

    /// Has `action` run once the peer has gone, which is otherwise seen only when something is
    /// sent. From now on one that sends nothing more counts as gone.
    func onceClosed(_ action: @escaping @Sendable () -> Void) {
        _ = channel.setOption(.allowRemoteHalfClosure, value: false)
        channel.closeFuture.whenComplete { _ in action() }
    }
}

/// The headers that are Parse's own. Source: Parse REST guide, Request format.
enum HTTPFieldName {
    static let applicationID = HTTPField.Name("X-Parse-Application-Id")
    static let sessionToken = HTTPField.Name("X-Parse-Session-Token")
    static let installationID = HTTPField.Name("X-Parse-Installation-Id")
    static let masterKey = HTTPField.Name("X-Parse-Master-Key")
    static let clientKeys = [
        HTTPField.Name("X-Parse-REST-API-Key"), HTTPField.Name("X-Parse-Client-Key"),
        HTTPField.Name("X-Parse-JavaScript-Key"),
    ]
    /// Set by proxies.
    static let forwarded = [
        HTTPField.Name("Forwarded"), HTTPField.Name("X-Forwarded-For"),
        HTTPField.Name("X-Real-IP"), HTTPField.Name("Via"),
    ]
    /// The first is the request's authority, so this is a second.
    static let secondHost = HTTPField.Name("Host")
    /// Set by the console's page with whatever it sends.
    static let page = HTTPField.Name("X-Postern-Console")
    /// Understood by nginx and others: events are passed on one by one.
    static let buffering = HTTPField.Name("X-Accel-Buffering")
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site")
    static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")
}
