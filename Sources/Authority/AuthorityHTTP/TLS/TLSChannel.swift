import HummingbirdCore
import Logging
import NIOCore

/// A connection's channel with TLS below it. It uses the certificate that is current when the
/// connection begins.
struct TLSChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let certificate: ConsoleCertificate

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
                TLSServerHandler(certificate.context))
        }.flatMap { base.setup(channel: channel, logger: logger) }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
