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
    /// Set by the console's page with whatever it sends.
    static let page = HTTPField.Name("X-Postern-Console")
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site")
    static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")
}
