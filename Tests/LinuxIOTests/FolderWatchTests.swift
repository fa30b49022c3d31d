import Foundation
import LinuxIO
import Testing

@Suite("Folder watch")
struct FolderWatchTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/watched" }

    init() throws {
        folder = try TemporaryFolder()
        try make("watched")
    }

    private func make(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/" + name, withIntermediateDirectories: false)
    }

    private func watch() throws -> Watched {
        Watched(try FolderWatch(path, names: ["a.toml", "b.toml"]))
    }

    /// Writes in place, as `cat >` does: opened, cut off, written, closed.
    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name), options: [])
    }

    @Test("tells of a file that is written, replaced, removed or given another mode", arguments: [
        "write", "rename over", "rename away", "remove", "mode",
    ])
    func changes(how: String) throws {
        try write("a.toml", "old")
        let watch = try watch()
        #expect(watch.news() == FolderChanges())
        let file = path + "/a.toml"
        switch how {
        case "write": try write("a.toml", "new")
        case "rename over":
            try write("a.toml.new", "new")
            #expect(watch.news() == FolderChanges())
            #expect(unsafe rename(file + ".new", file) == 0)
        case "rename away": #expect(unsafe rename(file, file + ".old") == 0)
        case "remove": #expect(unsafe unlink(file) == 0)
        default: #expect(unsafe chmod(file, 0o600) == 0)
        }
        #expect(try watch.isReadable)
        #expect(watch.news() == FolderChanges(hasChanged: true))
        #expect(!watch.isUnfinished)
        #expect(try !watch.isReadable)
        #expect(watch.news() == FolderChanges())
    }

    @Test("tells of a file that was not there before")
    func appears() throws {
        let watch = try watch()
        try write("b.toml", "new")
        #expect(watch.news() == FolderChanges(hasChanged: true))
    }

    @Test("says nothing of other files, of reading and of time")
    func quiet() throws {
        try write("a.toml", "old")
        let watch = try watch()
        try write("c.toml", "new")
        _ = try Data(contentsOf: URL(fileURLWithPath: path + "/a.toml"))
        #expect(watch.news() == FolderChanges())
        #expect(try !watch.isReadable)
    }

    @Test("knows a file that is still being written")
    func unfinished() throws {
        try write("a.toml", "old")
        let watch = try watch()
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/a.toml"))
        try file.truncate(atOffset: 0)
        #expect(watch.news() == FolderChanges())
        #expect(watch.isUnfinished)
        try file.write(contentsOf: Data("half".utf8))
        #expect(unsafe chmod(path + "/a.toml", 0o600) == 0)
        #expect(watch.news() == FolderChanges(hasChanged: true))
        #expect(watch.isUnfinished)
        try file.close()
        #expect(watch.news() == FolderChanges(hasChanged: true))
        #expect(!watch.isUnfinished)
    }

    @Test("takes many changes, and a queue that overflowed, as one change")
    func many() throws {
        let watch = try watch()
        let limit = try String(
            contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        let count = try #require(Int(limit.trimmingCharacters(in: .whitespacesAndNewlines)))
        for number in 0..<min(count, 40_000) {
            // Two names by turns: the kernel merges equal events that stand side by side.
            let name = number.isMultiple(of: 2) ? "a.toml" : "b.toml"
            let raw = unsafe creat(path + "/" + name, 0o600)
            try #require(raw >= 0)
            close(raw)
        }
        #expect(watch.news() == FolderChanges(hasChanged: true))
        #expect(!watch.isUnfinished)
        try write("a.toml", "last")
        #expect(watch.news() == FolderChanges(hasChanged: true))
    }

    @Test("says when its folder is another one or gone", arguments: ["rename", "remove"])
    func lost(how: String) throws {
        let watch = try watch()
        if how == "rename" {
            #expect(unsafe rename(path, path + ".old") == 0)
            try make("watched")
        } else {
            #expect(unsafe rmdir(path) == 0)
        }
        #expect(watch.news().isLost)
    }

    @Test("fails for a folder that is not there, or is none")
    func missing() throws {
        let file = folder.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        for place in [folder.path + "/none", file] {
            do throws(SystemError) {
                _ = try FolderWatch(place, names: ["a"])
                Issue.record("a watch on \(place)")
            } catch {
                #expect(error.operation == "inotify_add_watch")
            }
        }
    }
}

/// A watch that `#expect` can ask.
private final class Watched {
    private var watch: FolderWatch

    init(_ watch: consuming FolderWatch) { self.watch = watch }

    var isUnfinished: Bool { watch.isBeingWritten }

    /// Whether a poll on it would return at once.
    var isReadable: Bool {
        get throws {
            var poller = Poller()
            let slot = poller.add(watch.descriptor, read: true, write: false)
            _ = try poller.wait(.zero)
            return poller.isReadable(slot)
        }
    }

    func news() -> FolderChanges { watch.take() }
}
