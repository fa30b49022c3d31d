import Foundation
import LinuxIO
import Synchronization

/// The program that was built beside the tests, started so that it ends with them: also where
/// whoever runs the tests is killed.
enum BuiltProgram {
    /// Starts it with its stderr in the file `log`, which need not exist.
    static func start(_ arguments: [String], log: String) throws -> Process {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = ["--pdeathsig", "KILL", authority] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: log)
        try nursery.start(process)
        return process
    }

    /// Beside the tests' own binary.
    private static var authority: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent()
            .appendingPathComponent("postern-authority").path
    }

    private static let nursery = Nursery()
}

/// One thread that starts every program and never ends: the kernel takes the end of the thread
/// that started a child for the end of its parent.
private final class Nursery: Sendable {
    private struct Birth: Sendable {
        let process: Process
        let done = DispatchSemaphore(value: 0)
        let failure = Failure()
    }

    private final class Failure: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    private let births = Mutex<[Birth]>([])
    private let waiting = DispatchSemaphore(value: 0)

    func start(_ process: Process) throws {
        let birth = Birth(process: process)
        births.withLock { $0.append(birth) }
        waiting.signal()
        birth.done.wait()
        if let error = birth.failure.error.withLock({ $0 }) { throw error }
    }

    init() {
        let thread = try? WorkerThread(name: "nursery") { [self] in
            while true {
                waiting.wait()
                guard let birth = births.withLock({ $0.isEmpty ? nil : $0.removeFirst() })
                else { continue }
                do {
                    try birth.process.run()
                } catch {
                    birth.failure.error.withLock { $0 = error }
                }
                birth.done.signal()
            }
        }
        thread?.detach()
    }
}

extension Process {
    /// Waits for its end, as `waitUntilExit` does, without a thread of Swift's concurrency that
    /// sleeps: there are as few as there are processors, and other tests wait for them.
    func end() async -> Int32 {
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async {
                self.waitUntilExit()
                waiting.resume(returning: self.terminationStatus)
            }
        }
    }
}
