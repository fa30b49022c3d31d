import Foundation
import LinuxIO
import Testing

@Suite("Unfinished file")
struct UnfinishedFileTests {
    private func names(in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test("has its name and its whole content only when it is finished, for its user alone")
    func finish() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/out"
        let content = Array(String(repeating: "line\n", count: 50_000).utf8)
        do {
            let file = try UnfinishedFile(path, replaces: false)
            try file.write(content)
            try file.write(CollectionOfOne(UInt8(ascii: "!")))
            #expect(!PrivateFile.isThere(path))
            try file.finish()
        }
        #expect(try names(in: folder) == ["out"])
        #expect(try PrivateFile.read(path, limit: 1 << 20) == content + [UInt8(ascii: "!")])
    }

    @Test("leaves nothing if it is given up")
    func givenUp() throws {
        let folder = try TemporaryFolder()
        do {
            let file = try UnfinishedFile(folder.path + "/out", replaces: false)
            try file.write(Array(repeating: 1, count: 100_000))
            #expect(try names(in: folder).count == 1)
        }
        #expect(try names(in: folder).isEmpty)
    }

    @Test("leaves an older file as it is, unless it replaces it")
    func older() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/out"
        let late = try UnfinishedFile(path, replaces: false)
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: FileFailure.exists(path: path)) { try late.finish() }
        #expect(throws: FileFailure.exists(path: path)) {
            _ = try UnfinishedFile(path, replaces: false)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
        let file = try UnfinishedFile(path, replaces: true)
        try file.write("new".utf8)
        try file.finish()
        #expect(try PrivateFile.read(path, limit: 9) == Array("new".utf8))
    }

    @Test("replaces no folder, device or link", arguments: ["folder", "link"])
    func kinds(name: String) throws {
        let folder = try TemporaryFolder()
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path + "/folder",
                                  withIntermediateDirectories: false)
        try files.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/folder")
        for path in ["\(folder.path)/\(name)", "/dev/null"] {
            #expect(throws: FileFailure.wrongKind(path: path)) {
                _ = try UnfinishedFile(path, replaces: true)
            }
        }
    }
}
