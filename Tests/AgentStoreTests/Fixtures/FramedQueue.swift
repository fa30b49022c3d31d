import AgentCore
@testable import AgentStore
import Foundation

/// A queue of 400 writes in frames of five, in several segments.
struct FramedQueue {
    static let last: Int64 = 400
    let folder: StateFolder
    static let segmentBytes = 8192

    init() throws {
        folder = try StateFolder()
        let store = try folder.open(segmentBytes: Self.segmentBytes)
        for first in stride(from: Int64(1), through: Self.last, by: 5) {
            try store.append(try Sample.writes(first...first + 4))
        }
        // So the vault knows which number was given last.
        try store.commit([.memory(Sample.memory(1))])
    }
}

extension StateFolder {
    /// The frames of a segment: where each is, and its first sequence; 0 for its opening.
    func frames(of path: String) throws -> [(place: Range<Int>, first: Int64)] {
        let bytes = try self.bytes(path)
        var (frames, offset, last) = ([(place: Range<Int>, first: Int64)](), 0, Int64(-1))
        while let header = FrameHeader(bytes[offset...]), header.first > last {
            frames.append((offset..<offset + header.byteCount, header.first))
            offset += header.byteCount
            last = header.first
        }
        return frames
    }

    /// Writes into a file that is there; it may be open elsewhere.
    func overwrite(_ path: String, _ bytes: [UInt8], at offset: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    func flip(_ path: String, _ index: Int, bit: Int) throws {
        try overwrite(path, [try bytes(path)[index] ^ UInt8(1 << bit)], at: index)
    }

    /// The path of the same file in this folder.
    func same(_ path: String, of other: StateFolder) -> String {
        self.path + path.dropFirst(other.path.count)
    }
}
