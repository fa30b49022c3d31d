import Foundation

/// The files of this repository, as they stand in the working tree.
enum Repository {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Made by tools and never committed.
    private static let made: Set = [
        ".git", ".build", ".venv", ".swiftpm", "__pycache__", ".pytest_cache", "dist",
    ]

    /// Paths of regular files below `folder`, relative to the root, sorted.
    static func files(below folder: String = "", endingWith suffix: String = "") -> [String] {
        let start = folder.isEmpty ? root : root.appending(path: folder)
        guard
            let walk = FileManager.default.enumerator(
                at: start, includingPropertiesForKeys: [.isRegularFileKey])
        else { return [] }
        var found: [String] = []
        for case let url as URL in walk {
            if made.contains(url.lastPathComponent) {
                walk.skipDescendants()
                continue
            }
            let isFile = try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
            guard isFile == true, url.path.hasSuffix(suffix) else { continue }
            found.append(String(url.path.dropFirst(root.path.count).drop { $0 == "/" }))
        }
        return found.sorted()
    }

    /// The text of a file; nil if it is none.
    static func text(_ path: String) -> String? {
        (try? Data(contentsOf: root.appending(path: path))).flatMap {
            String(data: $0, encoding: .utf8)
        }
    }

    static func lines(_ path: String) -> [Substring] {
        var lines = (text(path) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    /// What stands at the root, but for what tools make.
    static var topLevel: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.path)
        return (names ?? []).filter { !made.contains($0) && $0 != "Package.resolved" }.sorted()
    }

    /// The code of each Swift file, read once for all tests.
    static let code = Dictionary(uniqueKeysWithValues: swiftFiles.map {
        ($0, SwiftText(text($0) ?? ""))
    })

    /// The modules of each layer.
    static let modules = Dictionary(uniqueKeysWithValues: folders(in: "Sources").map {
        ($0, folders(in: "Sources/" + $0))
    })

    static let moduleFolders = modules.flatMap { layer, modules in
        modules.map { "Sources/\(layer)/\($0)" }
    }.sorted()

    /// The names of all entries of a folder, sorted.
    static func folders(in folder: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: folder).path)
        return (names ?? []).sorted()
    }

    static let swiftFiles =
        files(below: "Sources", endingWith: ".swift")
        + files(below: "Tests", endingWith: ".swift") + ["Package.swift"]

    static let sourceFiles = files(below: "Sources", endingWith: ".swift")
}
