import Dispatch
import LinuxIO
import Synchronization

/// SIGTERM or SIGINT, for programs of tasks that stay on a broker until they are told to stop.
///
/// As soon as it is made neither ends the program by itself, and one that comes is not missed:
/// make it before the program says that it is there.
package final class StopSignal: Sendable {
    private static let signals: [Signal] = [.terminate, .interrupt]

    private let bell: StopBell
    /// Dispatch does not say that they are Sendable.
    private let sources: Mutex<[any DispatchSourceSignal]>

    package init() {
        let bell = StopBell()
        self.bell = bell
        let registered = DispatchSemaphore(value: 0)
        sources = Mutex(Self.signals.map { signal in
            // Children get the default back: what starts them resets every handler.
            signal.ignore()
            let source = DispatchSource.makeSignalSource(signal: signal.number)
            source.setEventHandler { bell.ring() }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        })
        // Registration happens on another thread; the kernel drops a signal that comes before.
        for _ in Self.signals { _ = registered.wait(timeout: .now() + .seconds(5)) }
    }

    deinit { release() }

    /// Returns when one of them has come, or when the task is cancelled.
    package func wait() async { await bell.wait() }

    /// From now on one more ends the program, whatever it still does.
    package func letSecondEnd() {
        release()
        for signal in Self.signals { signal.restore() }
    }

    private func release() {
        sources.withLock { for source in $0 { source.cancel() } }
    }
}

/// Rung once and for good, for any number of those who wait.
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
