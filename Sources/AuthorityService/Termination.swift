import Dispatch
import Foundation

/// SIGTERM and SIGINT as something to wait for.
enum Termination {
    /// Returns when one of them comes, or when the task is cancelled. From its call on neither
    /// ends the program by itself.
    static func wait() async {
        let (stream, input) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGTERM, SIGINT].map { number in
            // Children get the default back: what starts them resets every handler.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { input.yield() }
            source.resume()
            return source
        }
        for await _ in stream { break }
        for source in sources { source.cancel() }
    }
}
