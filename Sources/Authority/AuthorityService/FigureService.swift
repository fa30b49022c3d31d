import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import Dispatch
import LinuxIO
import Logging
import MetricsServer
import Synchronization

/// Gives the authority's figures out, on a thread of its own.
final class FigureService: Sendable {
    private let place: MetricsPlace
    private let logger: Logger
    private let collect: @Sendable () async throws(AuthorityError) -> AuthorityFigures
    private let isOver = Mutex(false)

    init(
        _ place: MetricsPlace, _ logger: Logger,
        _ collect: @escaping @Sendable () async throws(AuthorityError) -> AuthorityFigures
    ) {
        self.place = place
        self.logger = logger
        self.collect = collect
    }

    /// Works until its task is cancelled. Figures that cannot be given out end nothing else.
    func run() async {
        do {
            let wake = try EventDescriptor()
            let thread = try WorkerThread(name: "figures") { [self] in serve(wake) }
            await withTaskCancellationHandler {
                while !Task.isCancelled { await pause(.seconds(3600)) }
            } onCancel: {
                isOver.withLock { $0 = true }
                wake.raise()
            }
            thread.join()
        } catch {
            logger.error("no figures are given out: \(error)")
            while !Task.isCancelled { await pause(.seconds(3600)) }
        }
    }

    private func serve(_ wake: EventDescriptor) {
        do {
            var server = switch place {
            case .port(let host, let port): try ScrapeServer(host: host, port: port)
            case .socket(let path): try ScrapeServer(path: path)
            }
            var poller = Poller()
            while !isOver.withLock({ $0 }) {
                poller.clear()
                poller.add(wake.descriptor, read: true, write: false)
                server.register(in: &poller)
                let left = server.nextDeadline.map { max($0 - SystemClock.monotonic, .zero) }
                _ = try poller.wait(left)
                server.collect(poller, at: SystemClock.monotonic)
                let asked = server.takeAsked()
                guard !asked.isEmpty else { continue }
                let answer = answer()
                for id in asked { server.answer(id, answer) }
            }
        } catch {
            logger.error("no figures are given out: \(error)")
        }
    }

    /// Waits for the store on this thread, which has nothing else to do.
    private func answer() -> [UInt8] {
        let answer = PendingAnswer()
        Task { [collect, logger] in
            do throws(AuthorityError) {
                answer.finish(ScrapeAnswer.figures(try await collect().text))
            } catch {
                // As over our own HTTP: where the store is and what it said is the log's alone.
                logger.error("no figures are given out: \(error.words)")
                answer.finish(ScrapeAnswer.unavailable("store: the store is away"))
            }
        }
        return answer.wait(.seconds(4))
    }
}

/// An answer that a task makes and a thread waits for.
private final class PendingAnswer: Sendable {
    private let bytes = Mutex(ScrapeAnswer.unavailable("the store did not answer in time"))
    private let done = DispatchSemaphore(value: 0)

    func finish(_ answer: [UInt8]) {
        bytes.withLock { $0 = answer }
        done.signal()
    }

    func wait(_ span: Duration) -> [UInt8] {
        _ = done.wait(timeout: .now() + .seconds(Int(span.components.seconds)))
        return bytes.withLock { $0 }
    }
}
