import Foundation
import LinuxIO
import Testing

@Suite("Input file")
struct InputFileTests {
    private func file(_ text: String, in folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/input"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func lines(_ text: String, limit: Int) throws -> [String] {
        let folder = try TemporaryFolder()
        var input = try InputFile(try file(text, in: folder))
        var lines: [String] = []
        while let line = try input.nextLine(limit: limit) {
            lines.append(String(decoding: line.bytes, as: UTF8.self) + (line.isCut ? "…" : ""))
        }
        return lines
    }

    @Test("comes line by line, and no line is longer than its limit", arguments: [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb", ["a", "", "b"]),
        ("12345\n123456\n1", ["12345", "12345…", "1"]), ("1234567", ["12345…"]),
    ] as [(String, [String])])
    func lines(text: String, expected: [String]) throws {
        #expect(try lines(text, limit: 5) == expected)
    }

    @Test("is not kept whole: lines longer than what is read at once are cut, and gone on behind")
    func longLines() throws {
        let long = String(repeating: "x", count: 200_000)
        let found = try lines("\(long)\nb\n\(long)", limit: 70_000)
        #expect(found.map(\.count) == [70_001, 1, 70_001])
        #expect(try lines("\(long)\nb", limit: 200_000).map(\.count) == [200_000, 1])
    }

    @Test("is read to a limit and no further")
    func bounded() throws {
        let folder = try TemporaryFolder()
        var input = try InputFile(try file(String(repeating: "y", count: 100_000), in: folder))
        #expect(try input.read(first: 70_000).count == 70_000)
        #expect(try input.read(first: 70_000).count == 30_000)
        #expect(try input.read(first: 70_000).isEmpty)
    }

    @Test("may be of any mode and behind a link; a folder and what is not there are failures")
    func kinds() throws {
        let folder = try TemporaryFolder()
        let path = try file("z", in: folder)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: path)
        var linked = try InputFile(folder.path + "/link")
        #expect(try linked.read(first: 9) == Array("z".utf8))
        #expect(throws: FileFailure.self) { _ = try InputFile(folder.path + "/none") }
        #expect(throws: FileFailure.self) {
            var input = try InputFile(folder.path)
            _ = try input.read(first: 9)
        }
    }
}
