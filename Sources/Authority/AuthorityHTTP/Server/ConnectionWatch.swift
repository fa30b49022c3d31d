import NIOCore
import NIOHTTPTypes

/// Enters a connection into the book, notes when it is used, and closes it if its first header
/// does not come in time.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The broker showed its secret on this connection.
    struct IsBrokers: Sendable {}

    private let book: ConnectionBook
    private var connection: OpenConnection?
    private var timer: Scheduled<Void>?

    init(_ book: ConnectionBook) { self.book = book }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let entered = book.enter(
            from: channel.remoteAddress?.ipAddress ?? "unknown", at: .now(),
            close: { channel.close(promise: nil) })
        guard let entered else {
            // The pipeline is finished first.
            context.eventLoop.execute { channel.close(promise: nil) }
            return
        }
        connection = entered
        channel.closeFuture.whenComplete { [book] _ in book.leave(entered) }
        timer = context.eventLoop.scheduleTask(in: book.limits.header) {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) {
            timer?.cancel()
            timer = nil
            connection?.isUsed(at: .now())
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        connection?.isUsed(at: .now())
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IsBrokers else { return context.fireUserInboundEventTriggered(event) }
        if let connection { book.keepForBroker(connection) }
    }
}
