import HTTPTypes
import Hummingbird
import NIOCore

/// What is known of a request besides itself.
struct ConsoleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The peer's address without its port, for the rate limit and the audit log.
    let origin: String

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        origin = source.channel.remoteAddress?.ipAddress ?? "unknown"
    }

    var maxUploadSize: Int { Route.largeBody }
}

/// The headers that are Parse's own. Source: Parse REST guide, Request format.
enum HTTPFieldName {
    static let applicationID = HTTPField.Name("X-Parse-Application-Id")
    static let sessionToken = HTTPField.Name("X-Parse-Session-Token")
    static let installationID = HTTPField.Name("X-Parse-Installation-Id")
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")
}
