import Dispatch
import Foundation

/// ^C or SIGTERM as something to wait for, so that a summary can still be said.
enum Interruption {
    /// Returns when one comes, or when the task is cancelled; only until then do they not end
    /// the program by themselves.
    static func wait() async {
        let (stream, input) = AsyncStream.makeStream(of: Void.self)
        let numbers = [SIGINT, SIGTERM]
        let sources = numbers.map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { input.yield() }
            source.resume()
            return source
        }
        for await _ in stream { break }
        for source in sources { source.cancel() }
        // A second ^C ends the program, whatever it still does.
        for number in numbers { _ = signal(number, SIG_DFL) }
    }
}
