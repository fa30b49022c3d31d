package import AuthorityHTTP
import Foundation
package import Logging

/// Finds the console's page: in the configured folder, or where a package or a build tree puts it
/// beside the program.
package enum ConsoleFolder {
    /// The page's files. If no folder was found, it logs a notice and returns no files.
    ///
    /// - Throws: if the configured folder has no page in it.
    package static func files(_ configured: String?, _ logger: Logger) throws -> StaticFiles {
        if let configured { return try StaticFiles(folder: configured) }
        guard let found = candidates.first(where: hasPage) else {
            logger.notice("there is no console: its files were not found (http.console)")
            return .none
        }
        return try StaticFiles(folder: found)
    }

    /// The folders in order: `share` beside the program's `bin`, the system's `share`, a build
    /// tree's `Provisioning`.
    private static var candidates: [String] {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        var folder = program.deletingLastPathComponent()
        let installed = folder.deletingLastPathComponent().path + "/share/postern/console"
        var found = [installed, "/usr/share/postern/console"]
        for _ in 0..<6 where folder.path != "/" {
            folder.deleteLastPathComponent()
            found.append(folder.path + "/Provisioning/console")
        }
        return found
    }

    private static func hasPage(_ folder: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(folder)/index.html")
    }
}
