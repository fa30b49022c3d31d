import Cryptography
import NIOCore

/// TLS between a socket and what serves HTTP on it.
///
/// A handshake has 10 s. While what we send is not taken, nothing more is read.
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
    /// What was written and is not encrypted yet.
    private var unsent: [(text: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    private var isReadHeld = false
    /// Is fulfilled when our last bytes are on their way.
    private var lastWords: EventLoopFuture<Void>?
    private var timer: Scheduled<Void>?

    private static let handshakeLimit = TimeAmount.seconds(10)
    /// For the other side to take our last bytes.
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
        // What comes after its sender's end, or after ours, is dropped: nobody would read it.
        guard phase == .handshaking || phase == .open, !hasInputEnded else { return }
        connection.take(unwrapInboundIn(data))
        if phase == .handshaking, !shakeHands(context) { return }
        var text = context.channel.allocator.buffer(capacity: 0)
        let step = connection.read(into: &text)
        // An answer to the other side's new key, or an alert.
        send(context)
        if text.readableBytes > 0, phase == .open { context.fireChannelRead(wrapInboundOut(text)) }
        switch step {
        case .done, .waiting: break
        case .ended: endInput(context)
        case .failed: breakOff(context)
        }
    }

    /// Whether text may flow.
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

    /// By `close_notify` or by the end of the socket's input; what comes first counts.
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

    /// Sends what TLS itself has to say.
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

    /// Sends what was written, and `close_notify`.
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

    /// Closes without a word but the alert that OpenSSL wrote.
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
