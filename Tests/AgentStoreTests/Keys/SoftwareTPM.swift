import Foundation
import FreePorts
import TPM

/// A TPM 2.0 in software (`swtpm`) on two ports of loopback, ended with its owner.
final class SoftwareTPM {
    struct Silent: Error {}

    let platform: TrustedPlatform
    private let folder: StateFolder
    private let process = Process()

    /// `folder` is the chip: what it keeps when its power is off.
    init(in folder: StateFolder? = nil) throws {
        self.folder = try folder ?? StateFolder()
        let port = try Self.twoPorts()
        platform = TrustedPlatform(transport: "swtpm:host=127.0.0.1,port=\(port)")
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.runBound("/usr/bin/swtpm", [
            "socket", "--tpm2", "--tpmstate", "dir=\(self.folder.path)",
            "--server", "type=tcp,port=\(port),bindaddr=127.0.0.1",
            "--ctrl", "type=tcp,port=\(port + 1),bindaddr=127.0.0.1",
            "--flags", "not-need-init,startup-clear",
        ])
        let end = ContinuousClock.now + .seconds(20)
        while (try? platform.probe()) == nil {
            guard ContinuousClock.now < end, process.isRunning else { throw Silent() }
            usleep(20_000)
        }
    }

    deinit { stop() }

    func stop() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The second is the first one's neighbour, as tcti-swtpm expects it.
    private static func twoPorts() throws -> UInt16 {
        for _ in 0..<100 {
            let port = try FreePort.next()
            if port < 32_767, FreePort.isFree(port + 1) { return port }
        }
        throw Silent()
    }
}
