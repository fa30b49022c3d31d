import Hummingbird
import MetricsServer
import Sessions
import Wire

/// What a route says, before it is HTTP.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var content: Content
    var headers: HTTPFields = [:]
    /// What went wrong, for the log alone.
    var fault: String?

    enum Content: Sendable {
        case json(JSONValue)
        case text(String)
        case metrics(FigureText)
        case page(ClaimPage)
        /// A file of the console; nil where the browser has it already.
        case file(StaticFiles.File?)
        /// PEM. Source: RFC 8555 §9.1 (`application/pem-certificate-chain`).
        case certificate(String)
        /// Written piece by piece; the route says its type.
        case stream(StreamWriter)
    }

    typealias StreamWriter = @Sendable (inout any ResponseBodyWriter) async throws -> Void

    /// 200 with a body that is made while it is sent.
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

    /// 200 with a JSON array, as Parse answers a batch.
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

    /// 200 in Prometheus' text form.
    init(metrics: FigureText) {
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

    /// As Parse answers a query.
    static func results(_ values: [JSONValue]) -> Answer {
        Answer(["results": .array(values)])
    }

    /// With the headers that every answer of the console bears: nothing is kept, nothing is
    /// guessed, and no page of it can be framed.
    var response: Response {
        var fields = headers
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        let bytes: [UInt8]
        switch content {
        case .json(let value):
            fields[.contentType] = "application/json; charset=utf-8"
            bytes = value.bytes
        case .text(let text):
            fields[.contentType] = "text/plain; charset=utf-8"
            bytes = Array(text.utf8)
        case .metrics(let metrics):
            fields[.contentType] = FigureText.contentType
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
