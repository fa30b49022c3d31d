import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Sessions
import Wire

/// Answers a malformed request, or one whose header is too large, in our own error form. The HTTP
/// library's own answer is an empty 400.
final class MalformedRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var fault: HTTPParserError?

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fault = fault ?? error as? HTTPParserError
        context.fireErrorCaught(error)
    }

    /// Replaces the library's empty 400. Answers to earlier requests pass unchanged, because none
    /// of ours is empty.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let fault, case .head(let head) = unwrapOutboundIn(data),
            head.status == .badRequest, head.headerFields[.contentLength] == "0"
        else { return context.write(data, promise: promise) }
        let (told, body) = Self.answer(to: fault)
        context.write(wrapOutboundOut(.head(told)), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: promise)
    }

    /// Source: RFC 6585 §5.
    private static func answer(to fault: HTTPParserError) -> (HTTPResponse, [UInt8]) {
        let answer = fault == .headerOverflow
            ? Answer(
                .requestHeaderFieldsTooLarge,
                Refusal(
                    .tooLarge, "the header has over 64 lines, 8 KiB in a line or 16 KiB in all"))
            : Answer(.badRequest, Refusal(.validation, "the request is malformed"))
        let body = if case .json(let value) = answer.content { value.bytes } else { [UInt8]() }
        var fields = answer.response.headers
        fields[.contentLength] = "\(body.count)"
        fields[.connection] = "close"
        return (HTTPResponse(status: answer.status, headerFields: fields), body)
    }
}
