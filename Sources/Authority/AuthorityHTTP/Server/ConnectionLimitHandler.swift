import NIOCore
import NIOHTTPTypes

/// Registers a connection with the limiter and reports its use. Closes it if its first header does
/// not arrive in time.
final class ConnectionLimitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The event that the broker sent its secret on this connection.
    struct IsBrokers: Sendable {}

    private let limiter: ConnectionLimiter
    private var connection: OpenConnection?
    private var timer: Scheduled<Void>?

    init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let entered = limiter.enter(
            from: channel.remoteAddress?.ipAddress ?? "unknown", at: .now(),
            close: { channel.close(promise: nil) })
        guard let entered else {
            // Closes only after the pipeline is complete.
            context.eventLoop.execute { channel.close(promise: nil) }
            return
        }
        connection = entered
        channel.closeFuture.whenComplete { [limiter] _ in limiter.leave(entered) }
        timer = context.eventLoop.scheduleTask(in: limiter.limits.header) {
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
        if let connection { limiter.keepForBroker(connection) }
    }
}
