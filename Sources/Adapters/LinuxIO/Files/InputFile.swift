import Glibc

/// A file that decides nothing on this machine, or standard input: read whole or line by line,
/// always bounded. Links and pipes will do, and so will any owner and mode.
package struct InputFile: ~Copyable {
    /// A line without its end, and whether it was longer than was kept of it.
    package struct Line: Equatable, Sendable {
        package let bytes: [UInt8]
        package let isCut: Bool
    }

    private let file: Descriptor
    private let path: String
    private var chunk: [UInt8] = []
    private var position = 0
    private var isAtEnd = false

    /// Opens a file; `-` is standard input.
    package init(_ path: String) throws(FileFailure) {
        let raw = unsafe path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        file = Descriptor(owning: raw)
        self.path = path == "-" ? "standard input" : path
    }

    /// The first `limit` bytes of what is left; more are not read.
    package mutating func read(first limit: Int) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, try fill() {
            let end = min(chunk.count, position + limit - bytes.count)
            bytes.append(contentsOf: chunk[position..<end])
            position = end
        }
        return bytes
    }

    /// The next line, nil at the end. What a line has beyond `limit` bytes is read and dropped.
    package mutating func nextLine(limit: Int) throws(FileFailure) -> Line? {
        var bytes: [UInt8] = []
        var isCut = false
        var isFound = false
        while try fill() {
            isFound = true
            let rest = chunk[position...]
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? chunk.count
            let kept = min(end, position + limit - bytes.count)
            bytes.append(contentsOf: chunk[position..<kept])
            isCut = isCut || kept < end
            position = end
            if position < chunk.count {
                position += 1
                break
            }
        }
        return isFound ? Line(bytes: bytes, isCut: isCut) : nil
    }

    /// Whether there is a byte to read in `chunk`; blocks until there is, or the end.
    private mutating func fill() throws(FileFailure) -> Bool {
        if position < chunk.count { return true }
        guard !isAtEnd else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            switch try file.read(into: &buffer) {
            case .bytes(let count):
                buffer.removeSubrange(count...)
                chunk = buffer
            case .end:
                isAtEnd = true
                chunk = []
            case .wouldBlock: throw SystemError("read", code: EAGAIN)
            }
            position = 0
            return !isAtEnd
        } catch {
            throw FileFailure(error, path: path)
        }
    }
}
