import Foundation
import Glibc
import LinuxIO
import Testing

@Suite("Clock and poll")
struct PollerTests {
    @Test("reads clocks that agree with the calendar and only go on")
    func clocks() {
        #expect(SystemClock.wallMilliseconds > 1_700_000_000_000)
        let first = SystemClock.monotonic
        #expect(SystemClock.monotonic >= first)
    }

    @Test("ends a wait at its time, not before it")
    func timeout() throws {
        var poller = Poller()
        let start = SystemClock.monotonic
        #expect(try poller.wait(.microseconds(20_500)) == 0)
        #expect(SystemClock.monotonic - start >= .microseconds(20_500))
        #expect(try poller.wait(.seconds(-1)) == 0)
    }

    @Test("wakes for an event raised on another thread")
    func event() throws {
        let event = try EventDescriptor()
        let thread = try WorkerThread(name: "raiser") { event.raise() }
        var poller = Poller()
        let slot = poller.add(event.descriptor, read: true, write: false)
        #expect(try poller.wait(.seconds(10)) == 1)
        #expect(poller.isReadable(slot) && !poller.isWritable(slot))
        #expect(!poller.isReadable(slot + 1) && !poller.isReadable(-1))
        #expect(event.take() && !event.take())
        thread.join()
    }

    @Test("hands out signals as something to read")
    func signals() throws {
        let signals = try SignalDescriptor([.user1])
        #expect(signals.next() == nil)
        pthread_kill(pthread_self(), SIGUSR1)
        var poller = Poller()
        poller.add(signals.descriptor, read: true, write: false)
        #expect(try poller.wait(.seconds(10)) == 1)
        #expect(signals.next() == .user1)
    }
}

@Suite("Private file")
struct PrivateFileTests {
    @Test("reads back what it wrote, replaced whole")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/secret"
        try PrivateFile.write(path, Array("first".utf8))
        try PrivateFile.write(path, Array("second".utf8))
        #expect(try PrivateFile.read(path, limit: 6) == Array("second".utf8))
        #expect(throws: FileFailure.tooLarge(path: path, limit: 5)) {
            try PrivateFile.read(path, limit: 5)
        }
        try PrivateFile.remove(path)
        try PrivateFile.remove(path)
        #expect(throws: FileFailure.missing(path: path)) {
            try PrivateFile.read(path, limit: 5)
        }
    }

    @Test("has a second name, which is taken from nothing")
    func link() throws {
        let folder = try TemporaryFolder()
        let (path, other) = (folder.path + "/a", folder.path + "/b")
        try PrivateFile.write(path, [1])
        try PrivateFile.link(path, as: other)
        #expect(throws: FileFailure.self) { try PrivateFile.link(path, as: other) }
        try PrivateFile.write(path, [2])
        #expect(try PrivateFile.read(other, limit: 1) == [1])
        #expect(throws: FileFailure.missing(path: folder.path + "/c")) {
            try PrivateFile.link(folder.path + "/c", as: folder.path + "/d")
        }
    }

    @Test("refuses modes looser than asked for", arguments: [
        (0o600, 0o600, true), (0o400, 0o600, true), (0o640, 0o640, true),
        (0o640, 0o600, false), (0o644, 0o640, false), (0o602, 0o640, false),
        (0o700, 0o600, false), (0o660, 0o640, false),
    ] as [(UInt32, UInt32, Bool)])
    func modes(mode: UInt32, strictest: UInt32, isTaken: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        try PrivateFile.write(path, [1], mode: mode)
        if isTaken {
            #expect(try PrivateFile.read(path, limit: 1, strictestMode: strictest) == [1])
        } else {
            #expect(throws: FileFailure.tooOpen(path: path, mode: mode, strictest: strictest)) {
                try PrivateFile.read(path, limit: 1, strictestMode: strictest)
            }
        }
    }

    @Test("refuses links, folders and other people's files")
    func kinds() throws {
        let folder = try TemporaryFolder()
        let (path, link) = (folder.path + "/file", folder.path + "/link")
        try PrivateFile.write(path, [1])
        try #require(unsafe symlink(path, link) == 0)
        #expect(throws: FileFailure.wrongKind(path: link)) {
            try PrivateFile.read(link, limit: 1)
        }
        #expect(throws: FileFailure.wrongKind(path: folder.path)) {
            try PrivateFile.read(folder.path, limit: 1, strictestMode: 0o777)
        }
        guard geteuid() == 0 else { return print("skipped: only root gives files away") }
        try #require(unsafe chown(path, 12_345, 0) == 0)
        #expect(throws: FileFailure.foreignOwner(path: path, user: 12_345)) {
            try PrivateFile.read(path, limit: 1)
        }
    }

    @Test("leaves the old file when it cannot write the new one")
    func failure() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/is/not/there"
        #expect(throws: FileFailure.missing(path: path)) { try PrivateFile.write(path, [1]) }
        try PrivateFolder.prepare(folder.path + "/target")
        #expect(throws: FileFailure.self) {
            try PrivateFile.write(folder.path + "/target", [1])
        }
        #expect(try PrivateFolderTests.names(folder.path) == ["target"])
    }
}

@Suite("Private folder")
struct PrivateFolderTests {
    @Test("is made with its parents, and closed to others")
    func make() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a/b/c"
        try PrivateFolder.prepare(path)
        try PrivateFolder.prepare(path)
        #expect(try Self.mode(path) == 0o700)
        #expect(try Self.mode(folder.path + "/a") == 0o755)
    }

    @Test("is refused when it is open, a link or a file")
    func refusals() throws {
        let folder = try TemporaryFolder()
        let (open, link) = (folder.path + "/open", folder.path + "/link")
        try PrivateFolder.prepare(open, mode: 0o755)
        #expect(throws: FileFailure.tooOpen(path: open, mode: 0o755, strictest: 0o700)) {
            try PrivateFolder.prepare(open)
        }
        try #require(unsafe symlink(open, link) == 0)
        #expect(throws: FileFailure.wrongKind(path: link)) { try PrivateFolder.prepare(link) }
        let file = folder.path + "/file"
        try PrivateFile.write(file, [])
        #expect(throws: FileFailure.wrongKind(path: file)) { try PrivateFolder.prepare(file) }
        #expect(throws: FileFailure.wrongKind(path: file)) {
            try PrivateFolder.prepare(file + "/below")
        }
    }

    @Test("belongs to one process at a time")
    func lock() throws {
        let folder = try TemporaryFolder()
        do {
            let lock = try FolderLock(folder.path)
            #expect(throws: FileFailure.inUse(path: folder.path)) {
                _ = try FolderLock(folder.path)
            }
            _ = consume lock
        }
        _ = try FolderLock(folder.path)
    }

    static func mode(_ path: String) throws -> UInt32 {
        var status = stat()
        try #require(unsafe stat(path, &status) == 0)
        return status.st_mode & 0o7777
    }

    static func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
