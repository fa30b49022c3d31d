import Foundation
import Synchronization

extension Process {
    /// Runs a program that the kernel kills when this process ends, also when this process is
    /// killed. It may have SIGTERM blocked, as threads of Swift's pool have: end it by SIGKILL.
    package func runBound(_ path: String, _ arguments: [String]) throws {
        executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        self.arguments = ["--pdeathsig", "KILL", path] + arguments
        try ProgramStarter.shared.start(self)
    }
}

/// One thread that starts every program and never ends: the kernel takes the end of the thread
/// that started a child for the end of its parent.
private final class ProgramStarter: Sendable {
    private struct Order: Sendable {
        let process: Process
        let done = DispatchSemaphore(value: 0)
        let failure = Failure()
    }

    private final class Failure: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    static let shared = ProgramStarter()

    private let orders = Mutex<[Order]>([])
    private let waiting = DispatchSemaphore(value: 0)

    func start(_ process: Process) throws {
        let order = Order(process: process)
        orders.withLock { $0.append(order) }
        waiting.signal()
        order.done.wait()
        if let error = order.failure.error.withLock({ $0 }) { throw error }
    }

    private init() {
        Thread.detachNewThread { [self] in
            while true {
                waiting.wait()
                guard let order = orders.withLock({ $0.isEmpty ? nil : $0.removeFirst() })
                else { continue }
                do {
                    try order.process.run()
                } catch {
                    order.failure.error.withLock { $0 = error }
                }
                order.done.signal()
            }
        }
    }
}
