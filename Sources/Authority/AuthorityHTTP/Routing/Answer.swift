import Hummingbird
import MetricsServer
import Sessions
import Wire

/// The answer of a route, before it becomes an HTTP response.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var content: Content
    var headers: HTTPFields = [:]
    /// The cause of a failure. It goes to the log and never to the client.
    var fault: String?

    enum Content: Sendable {
        case json(JSONValue)
        case text(String)
        case metrics(MetricsText)
        case page(ClaimPage)
        /// A file of the console's page; nil if the browser has it already.
        case file(StaticFiles.File?)
        /// PEM. Source: RFC 8555 §9.1 (`application/pem-certificate-chain`).
        case certificate(String)
        /// Written in pieces. The route sets the content type.
        case stream(StreamWriter)
    }

    typealias StreamWriter = @Sendable (inout any ResponseBodyWriter) async throws -> Void

    /// 200 with a body that is written while it is sent.
    init(stream: @escaping StreamWriter) {
        status = .ok
        content = .stream(stream)
    }

    /// 200 with a JSON object.
    init(_ members: [String: JSONValue]) { self.init(.ok, members) }

    init(_ status: HTTPResponse.Status, _ members: [String: JSONValue]) {
        self.status = status
        content = .json(.object(members))
    }

    /// 200 with a JSON array: Parse's answer to a batch.
    init(list: [JSONValue]) {
        status = .ok
        content = .json(.array(list))
    }

    init(certificate: String) {
        status = .ok
        content = .certificate(certificate)
    }

    /// 200 with plain text.
    init(text: String) {
        status = .ok
        content = .text(text)
    }

    /// 200 in Prometheus' text format.
    init(metrics: MetricsText) {
        status = .ok
        content = .metrics(metrics)
    }

    init(page: ClaimPage) {
        status = .ok
        content = .page(page)
    }

    /// 200, or 304 without content if `known` is the file's tag. Source: RFC 9110 §13.1.2.
    init(file: StaticFiles.File, known: String?) {
        let isKnown = known == file.tag
        status = isKnown ? .notModified : .ok
        content = .file(isKnown ? nil : file)
        headers[.eTag] = file.tag
    }

    /// 303: the browser goes on to another address, and says nothing of this one there.
    ///
    /// Source: RFC 9110 §15.4.4.
    init(leadingTo address: String) {
        self.init(.seeOther, [:])
        headers[.location] = address
        if let name = HTTPFieldName.referrerPolicy { headers[name] = "no-referrer" }
    }

    /// Parse's answer to a query: `{"results": […]}`.
    static func results(_ values: [JSONValue]) -> Answer {
        Answer(["results": .array(values)])
    }

    /// The HTTP response, with the headers that every answer has: no caching, no guessing of the
    /// content type. A browser may keep a file of the console, but must ask before it uses the
    /// copy. Pages and files also get a policy that forbids framing.
    var response: Response {
        var fields = headers
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        // Source: RFC 9110 §10.2.3.
        if status == .serviceUnavailable, fields[.retryAfter] == nil {
            fields[.retryAfter] = "\(Self.repair.components.seconds)"
        }
        let bytes: [UInt8]
        switch content {
        case .json(let value):
            fields[.contentType] = "application/json; charset=utf-8"
            bytes = value.bytes
        case .text(let text):
            fields[.contentType] = "text/plain; charset=utf-8"
            bytes = Array(text.utf8)
        case .metrics(let metrics):
            fields[.contentType] = MetricsText.contentType
            bytes = Array(metrics.text.utf8)
        case .page(let page):
            fields[.contentType] = "text/html; charset=utf-8"
            fields[.contentSecurityPolicy] = ClaimPage.policy
            if let name = HTTPFieldName.referrerPolicy { fields[name] = "no-referrer" }
            bytes = Array(page.html.utf8)
        case .file(let file):
            fields[.cacheControl] = "no-cache"
            fields[.contentType] = file?.type
            fields[.contentSecurityPolicy] = StaticFiles.policy
            if let name = HTTPFieldName.referrerPolicy { fields[name] = "no-referrer" }
            if let name = HTTPFieldName.openerPolicy { fields[name] = "same-origin" }
            bytes = file?.bytes ?? []
        case .certificate(let pem):
            fields[.contentType] = "application/pem-certificate-chain"
            bytes = Array(pem.utf8)
        case .stream(let write):
            return Response(status: status, headers: fields, body: ResponseBody(write))
        }
        return Response(
            status: status, headers: fields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
