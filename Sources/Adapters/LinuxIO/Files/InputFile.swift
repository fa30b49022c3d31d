import Glibc

/// An input file or standard input, read whole or line by line, always bounded. Its content decides
/// nothing on this machine, so links, pipes and any owner and mode are accepted.
package struct InputFile: ~Copyable {
    /// A line without its line end, and whether it was cut at the limit.
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

    /// Reads at most `limit` bytes of the rest.
    package mutating func read(first limit: Int) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, try fill() {
            let end = min(chunk.count, position + limit - bytes.count)
            bytes.append(contentsOf: chunk[position..<end])
            position = end
        }
        return bytes
    }

    /// Reads the next line. Nil at the end. Bytes of a line beyond `limit` are read and dropped.
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

    /// Whether `chunk` has a byte to read. Blocks until it has one, or until the end.
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
