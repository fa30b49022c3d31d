import Synchronization

/// Signals the newest listener that certificates have changed. A signal without a listener is not
/// kept: a later listener reads the current files anyway.
package final class ReloadBell: Sendable {
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    package func ring() {
        _ = listener.withLock { $0?.yield() }
    }

    /// Several signals before a read count as one.
    func rings() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        listener.withLock { $0 = continuation }
        return stream
    }
}
