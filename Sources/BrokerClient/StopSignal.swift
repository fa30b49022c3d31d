import Dispatch
import LinuxIO

/// SIGTERM or SIGINT, for programs of tasks that stay on a broker until they are told to stop.
package enum StopSignal {
    private static let signals: [Signal] = [.terminate, .interrupt]

    /// Returns when one of them comes, or when the task is cancelled. From its call on neither
    /// ends the program by itself.
    package static func wait() async {
        let (stream, input) = AsyncStream.makeStream(of: Void.self)
        let sources = signals.map { signal in
            // Children get the default back: what starts them resets every handler.
            signal.ignore()
            let source = DispatchSource.makeSignalSource(signal: signal.number)
            source.setEventHandler { input.yield() }
            source.resume()
            return source
        }
        for await _ in stream { break }
        for source in sources { source.cancel() }
    }

    /// From now on one more ends the program, whatever it still does.
    package static func letSecondEnd() {
        for signal in signals { signal.restore() }
    }
}
