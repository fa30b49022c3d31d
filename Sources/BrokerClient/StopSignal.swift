import Dispatch
import LinuxIO
import Synchronization

/// SIGTERM or SIGINT, for programs of tasks that stay on a broker until they are told to stop.
///
/// As soon as it is made neither ends the program by itself, and one that comes is not missed:
/// make it before the program says that it is there.
package final class StopSignal: Sendable {
    private static let signals: [Signal] = [.terminate, .interrupt]

    private let stream: AsyncStream<Void>
    /// Dispatch does not say that they are Sendable.
    private let sources: Mutex<[any DispatchSourceSignal]>

    package init() {
        let (stream, input) = AsyncStream.makeStream(of: Void.self)
        self.stream = stream
        sources = Mutex(Self.signals.map { signal in
            // Children get the default back: what starts them resets every handler.
            signal.ignore()
            let source = DispatchSource.makeSignalSource(signal: signal.number)
            source.setEventHandler { input.yield() }
            source.resume()
            return source
        })
    }

    deinit { release() }

    /// Returns when one of them has come, or when the task is cancelled. For one caller, once.
    package func wait() async {
        for await _ in stream { break }
    }

    /// From now on one more ends the program, whatever it still does.
    package func letSecondEnd() {
        release()
        for signal in Self.signals { signal.restore() }
    }

    private func release() {
        sources.withLock { for source in $0 { source.cancel() } }
    }
}
