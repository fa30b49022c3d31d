import Foundation
import Glibc
import LinuxIO
import Testing

@Suite("Log file")
struct LogFileTests {
    @Test("is made of zeros, with room of its own, for this user alone")
    func making() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let size = 600_000
        let file = try LogFile(making: path, size: size)
        #expect(file.size == size)
        #expect(try file.read(size, at: 0) == [UInt8](repeating: 0, count: size))
        let found = try FileManager.default.attributesOfItem(atPath: path)
        #expect(found[.posixPermissions] as? Int == 0o600)
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        #expect(isThere && Int(status.st_blocks) * 512 >= size)
        #expect(throws: FileFailure.self) {
            _ = try LogFile(making: path, size: size)
        }
    }

    @Test("gives back what was written, where it was written, opened again, too")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let file = try LogFile(making: path, size: 10_000)
        let text = [UInt8](repeating: 65, count: 5000)
        try file.write(text, at: 3000)
        try file.write([66], at: 9999)
        try file.write([], at: 10_000)
        try file.sync()
        let again = try LogFile(path, isReadOnly: true)
        #expect(again.size == 10_000)
        #expect(try again.read(5002, at: 2999) == [0] + text + [0])
        #expect(try again.read(100, at: 9999) == [66])
        #expect(try again.read(100, at: 10_000) == [])
        #expect(try again.read(100, at: 20_000) == [])
        #expect(throws: FileFailure.self) { try again.write([1], at: 0) }
    }

    @Test("takes nothing beyond its size, and nothing of what would end there")
    func bounds() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let file = try LogFile(making: path, size: 4096)
        for offset in [4095, 4096, -1, .max] {
            #expect(throws: FileFailure.tooLarge(path: path, limit: 4096)) {
                try file.write([1, 1], at: offset)
            }
        }
        #expect(try file.read(4096, at: 0) == [UInt8](repeating: 0, count: 4096))
    }

    @Test("that was cut under its reader ends where it ends")
    func cut() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let file = try LogFile(making: path, size: 4096)
        let isCut = unsafe truncate(path, 100) == 0
        #expect(isCut)
        #expect(try file.read(4096, at: 0).count == 100)
    }

    @Test("is neither a link nor open to others")
    func refused() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        #expect(throws: FileFailure.missing(path: path)) { _ = try LogFile(path) }
        do { _ = try LogFile(making: path, size: 10) }
        let isLinked = unsafe symlink(path, path + ".link") == 0
        #expect(isLinked)
        #expect(throws: FileFailure.wrongKind(path: path + ".link")) {
            _ = try LogFile(path + ".link")
        }
        let isOpened = unsafe chmod(path, 0o640) == 0
        #expect(isOpened)
        #expect(throws: FileFailure.tooOpen(path: path, mode: 0o640, strictest: 0o600)) {
            _ = try LogFile(path)
        }
        #expect(throws: FileFailure.wrongKind(path: folder.path)) { _ = try LogFile(folder.path) }
    }
}
