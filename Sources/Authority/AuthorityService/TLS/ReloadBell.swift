import Synchronization

/// Tells whoever listens last that certificates have changed. What is rung while nobody listens
/// is not kept: who starts later reads what is there then.
final class ReloadBell: Sendable {
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    func ring() {
        _ = listener.withLock { $0?.yield() }
    }

    /// Several rings before a look are one.
    func rings() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        listener.withLock { $0 = continuation }
        return stream
    }
}
