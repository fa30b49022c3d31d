import Foundation
import FreePorts

/// The program that was built beside the tests. It ends with them, also if the test program is
/// killed.
enum BuiltProgram {
    /// Starts it with its stderr in the file `log`, which need not exist.
    static func start(_ arguments: [String], log: String) throws -> Process {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.runBound(authority, arguments)
        return process
    }

    /// Beside the tests' own binary.
    private static var authority: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent()
            .appendingPathComponent("postern-authority").path
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
