import Cryptography
import NIOCore

/// Adds TLS between a socket and the HTTP handlers.
///
/// A handshake may take 10 s. While the peer does not take our bytes, no more are read from it.
final class TLSServerHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case handshaking, open, closing, closed
    }

    private let connection: TLSServerConnection
    private var phase = Phase.handshaking
    private var hasInputEnded = false
    /// Plain text that was written and is not encrypted yet.
    private var unsent: [(text: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    private var isReadHeld = false
    /// Completes when our last bytes have been written to the socket.
    private var lastWords: EventLoopFuture<Void>?
    private var timer: Scheduled<Void>?

    private static let handshakeLimit = TimeAmount.seconds(10)
    /// How long the peer may take to receive our last bytes.
    private static let closeLimit = TimeAmount.seconds(5)

    init(_ context: TLSServerContext) throws(CryptographyError) {
        connection = try TLSServerConnection(context)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        start(Self.handshakeLimit, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { close() }

    func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    // MARK: - From the network

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data after the peer's end, or after ours, is dropped, because nobody would read it.
        guard phase == .handshaking || phase == .open, !hasInputEnded else { return }
        connection.take(unwrapInboundIn(data))
        if phase == .handshaking, !shakeHands(context) { return }
        var text = context.channel.allocator.buffer(capacity: 0)
        let step = connection.read(into: &text)
        // An answer to the peer's key update, or an alert.
        send(context)
        if text.readableBytes > 0, phase == .open { context.fireChannelRead(wrapInboundOut(text)) }
        switch step {
        case .done, .waiting: break
        case .ended: endInput(context)
        case .failed: breakOff(context)
        }
    }

    /// Continues the handshake. Returns whether plain text may be exchanged now.
    private func shakeHands(_ context: ChannelHandlerContext) -> Bool {
        let step = connection.shakeHands()
        send(context)
        switch step {
        case .waiting: return false
        case .ended, .failed:
            breakOff(context)
            return false
        case .done:
            timer?.cancel()
            phase = .open
            flush(context: context)
            return phase == .open
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        if phase == .handshaking { breakOff(context) } else { endInput(context) }
    }

    /// The peer sends no more, because of `close_notify` or the end of the socket's input. Only the
    /// first of the two counts.
    private func endInput(_ context: ChannelHandlerContext) {
        guard !hasInputEnded else { return }
        hasInputEnded = true
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = !context.channel.isWritable
        if !isReadHeld { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isReadHeld, context.channel.isWritable {
            isReadHeld = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: - To the network

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard phase == .handshaking || phase == .open, lastWords == nil else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        unsent.append((unwrapOutboundIn(data), promise))
    }

    func flush(context: ChannelHandlerContext) {
        guard phase == .open else { return }
        let all = unsent
        unsent = []
        for (index, next) in all.enumerated() {
            guard case .done = connection.write(next.text) else {
                for failed in all[index...] { failed.promise?.fail(ChannelError.eof) }
                return breakOff(context)
            }
            let bytes = connection.output(context.channel.allocator) ?? ByteBuffer()
            context.write(wrapOutboundOut(bytes), promise: next.promise)
        }
        context.flush()
    }

    /// Sends the bytes of TLS itself, such as handshake messages and alerts.
    private func send(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        if let bytes = connection.output(context.channel.allocator) {
            context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
        } else {
            promise?.succeed()
        }
    }

    // MARK: - The end

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .input { return context.close(mode: .input, promise: promise) }
        let isSaid = lastWords ?? sayEnd(context)
        lastWords = isSaid
        if mode == .all, phase == .open {
            phase = .closing
            start(Self.closeLimit, context)
        }
        let bound = context.loopBound
        isSaid.whenComplete { _ in bound.value.close(mode: mode, promise: promise) }
    }

    /// Sends all written text, then `close_notify`.
    private func sayEnd(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        flush(context: context)
        let promise = context.eventLoop.makePromise(of: Void.self)
        if phase == .open {
            connection.end()
            send(context, promise: promise)
        } else {
            promise.succeed()
        }
        return promise.futureResult
    }

    /// Closes at once; sends only the alert that OpenSSL wrote.
    private func breakOff(_ context: ChannelHandlerContext) {
        send(context)
        close()
        context.close(promise: nil)
    }

    private func close() {
        phase = .closed
        timer?.cancel()
        timer = nil
        let all = unsent
        unsent = []
        for next in all { next.promise?.fail(ChannelError.ioOnClosedChannel) }
    }

    private func start(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
        timer?.cancel()
        let bound = context.loopBound
        timer = context.eventLoop.scheduleTask(in: limit) { bound.value.close(promise: nil) }
    }
}
