import Testing

@testable import LinuxIO

@Suite("Child program")
struct ChildProgramTests {
    private func output(
        _ name: String, _ arguments: String..., input: [UInt8] = [], limit: Int = 8192
    ) throws(ChildProgram.Failure) -> [UInt8] {
        try ChildProgram.output(
            of: name, arguments, input: input, limit: limit, patience: .seconds(60))
    }

    @Test("reads its input to the end, and has no other", arguments: [1, 4096])
    func input(count: Int) throws {
        let bytes = [UInt8](repeating: 7, count: count)
        #expect(try output("cat", input: bytes) == bytes)
    }

    @Test("gets no input that no pipe holds for certain")
    func largeInput() {
        let bytes = [UInt8](repeating: 7, count: ChildProgram.inputLimit + 1)
        #expect(throws: ChildProgram.Failure.self) { try output("cat", input: bytes) }
    }

    @Test("may end without reading its input")
    func unread() throws {
        #expect(try output("echo", "done", input: [7]) == Array("done\n".utf8))
    }

    @Test("gives no more than the limit, and is ended then")
    func bounded() throws {
        #expect(try output("yes", limit: 5) == Array("y\ny\ny".utf8))
    }
}
