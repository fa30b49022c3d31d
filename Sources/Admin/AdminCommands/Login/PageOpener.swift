import Foundation
import LinuxIO

/// Opens pages with `xdg-open`, the desktop's own choice of a browser.
struct PageOpener: Sendable {
    private let program: String?

    /// Nil if there is no display, or nobody sits at a terminal.
    init?(environment: [String: String]) {
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { name in
            !(environment[name] ?? "").isEmpty
        }
        guard hasDisplay, Terminal.isTerminal(.input), Terminal.isTerminal(.error) else {
            return nil
        }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        program = folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/xdg-open" }
            .first(where: FileManager.default.isExecutableFile(atPath:))
    }

    /// Does not wait for it. Its output would mix with ours, so it is dropped.
    func open(_ page: String) -> Bool {
        guard let program else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [page]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
            return true
        } catch {
            return false
        }
    }
}
