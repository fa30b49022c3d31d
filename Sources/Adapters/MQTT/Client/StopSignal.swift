import Dispatch
import LinuxIO
import Synchronization

/// Waits for SIGTERM or SIGINT, for programs of tasks that run until they are stopped.
///
/// Once it is made, neither signal ends the program by itself, and none is missed. Make it before
/// the program reports that it runs.
package final class StopSignal: Sendable {
    private static let signals: [Signal] = [.terminate, .interrupt]

    private let bell: StopBell
    /// A mutex, because Dispatch does not declare the sources Sendable.
    private let sources: Mutex<[any DispatchSourceSignal]>

    package init() {
        let bell = StopBell()
        self.bell = bell
        let registered = DispatchSemaphore(value: 0)
        sources = Mutex(Self.signals.map { signal in
            // Child processes get the default action again, because the code that starts them
            // resets every handler.
            signal.ignore()
            let source = DispatchSource.makeSignalSource(signal: signal.number)
            source.setEventHandler { bell.ring() }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        })
        // Registration happens on another thread. The kernel would drop a signal that arrives
        // before it.
        for _ in Self.signals { _ = registered.wait(timeout: .now() + .seconds(5)) }
    }

    deinit { release() }

    /// Returns once a signal has arrived, or if the task is cancelled.
    package func wait() async { await bell.wait() }

    /// From now on the next signal ends the program at once.
    package func letSecondEnd() {
        release()
        for signal in Self.signals { signal.restore() }
    }

    private func release() {
        sources.withLock { for source in $0 { source.cancel() } }
    }
}

/// A bell that rings once and resumes all waiting tasks.
private final class StopBell: Sendable {
    private struct State {
        var hasRung = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    func wait() async {
        let (stream, input) = AsyncStream.makeStream(of: Void.self)
        let hasRung = state.withLock { state in
            if !state.hasRung { state.waiting.append(input) }
            return state.hasRung
        }
        guard !hasRung else { return }
        for await _ in stream { break }
    }

    func ring() {
        let waiting = state.withLock { state in
            state.hasRung = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for input in waiting { input.yield() }
    }
}
