import NIOCore
import NIOPosix

/// Stands where the page will, while there is no store to answer from: 503 to all, in plain HTTP,
/// one answer a connection.
enum StandInPage {
    /// Listens until the channel is closed. Connections end with their answer, or after 5 seconds.
    static func open(host: String, port: Int) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.close(promise: nil) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StandInAnswer())
                }
            }
            .bind(host: host, port: port).get()
    }

    /// What is said to a request that begins with these lines. Source: RFC 9112 §3 and §9.6.
    static func answer(to head: String) -> String {
        let path = head.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
        let isHealth = path.prefix { $0 != "?" } == "/postern/v1/health"
        let body = isHealth ? #"{"status":"store-away"}"# : """
            {"code":1,"error":"store: the store is away; try again later","name":"store-away"}
            """
        return """
            HTTP/1.1 503 Service Unavailable\r
            Content-Type: application/json; charset=utf-8\r
            Content-Length: \(body.utf8.count)\r
            Cache-Control: no-store\r
            Connection: close\r
            \r
            \(head.hasPrefix("HEAD ") ? "" : body)
            """
    }
}

private final class StandInAnswer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var head = ""
    private var isAnswered = false
    /// What comes after so much is not waited for.
    private static let limit = 16 * 1024

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered else { return }
        head += String(buffer: unwrapInboundIn(data))
        guard head.contains("\r\n\r\n") || head.utf8.count > Self.limit else { return }
        isAnswered = true
        let answer = ByteBuffer(string: StandInPage.answer(to: head))
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        // Whoever still sends a body hears the answer all the same.
        context.close(mode: .output, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
