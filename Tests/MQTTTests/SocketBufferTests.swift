import Glibc
import Testing

import LinuxIO
@testable import MQTT

/// Two ends of a stream, both non-blocking: `near` may have a buffer, `far` has none.
private final class Stream {
    let near: Int32
    let far: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        _ = close(near)
        _ = close(far)
    }

    /// What one read(2) brings; nil: not now.
    static func read(_ descriptor: Int32, _ count: Int = 65_536) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = unsafe Glibc.read(descriptor, &bytes, count)
        return found < 0 ? nil : Array(bytes.prefix(found))
    }

    @discardableResult
    static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Int {
        unsafe Glibc.write(descriptor, bytes, bytes.count)
    }

    static func bytes(_ count: Int, from first: Int = 0) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: (first + $0) * 7 >> 3) }
    }
}

/// `#expect` of a plain value: the macro copies what it looks into, and a buffer has no copies.
private func expect(_ isSo: Bool, _ place: SourceLocation = #_sourceLocation) {
    #expect(isSo, sourceLocation: place)
}

@Suite("Socket buffer")
struct SocketBufferTests {
    @Test("reads ahead, and gives every byte once and in order")
    func readsAhead() throws {
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        let sent = Stream.bytes(50_000)
        #expect(Stream.write(stream.far, sent) == sent.count)
        var taken: [UInt8] = []
        var sizes = [1, 2, 700, 16_384, 20_000, 3].makeIterator()
        while let part = Stream.read(stream.near, sizes.next() ?? 5000) {
            if taken.isEmpty { expect(buffer.hasUnread) }
            taken += part
        }
        #expect(taken == sent)
        expect(!buffer.hasUnread)
        #expect(errno == EAGAIN)
    }

    @Test("gives what came before the end, and then the end")
    func end() throws {
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        Stream.write(stream.far, [1, 2, 3])
        _ = shutdown(stream.far, Int32(SHUT_WR))
        #expect(Stream.read(stream.near, 1) == [1])
        expect(buffer.hasUnread)
        #expect(Stream.read(stream.near, 5) == [2, 3])
        #expect(Stream.read(stream.near, 5) == [])
    }

    @Test("sends nothing that it gathers before the flush")
    func gathers() throws {
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        buffer.gather(true)
        for byte in 1...9 { #expect(Stream.write(stream.near, [UInt8(byte)]) == 1) }
        #expect(Stream.read(stream.far) == nil)
        expect(buffer.hasUnsent)
        try buffer.flush()
        #expect(Stream.read(stream.far) == Array(1...9))
        expect(!buffer.hasUnsent)
    }

    @Test("writes at once what is not to be gathered, behind what was")
    func order() throws {
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        buffer.gather(true)
        Stream.write(stream.near, [1])
        buffer.gather(false)
        Stream.write(stream.near, [2])
        #expect(Stream.read(stream.far, 2) == [1, 2])
    }

    @Test("keeps what a full socket does not take, and says so")
    func full() throws {
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        buffer.gather(true)
        var sent: [UInt8] = []
        // Until neither the socket nor the buffer has room: then write(2) has no success.
        while true {
            let part = Stream.bytes(5000, from: sent.count)
            let count = Stream.write(stream.near, part)
            if count < 0 { break }
            sent += part.prefix(count)
        }
        #expect(errno == EAGAIN)
        expect(buffer.hasUnsent)
        buffer.gather(false)
        #expect(Stream.write(stream.near, [0]) == -1)
        var taken: [UInt8] = []
        while let part = Stream.read(stream.far) {
            taken += part
            try buffer.flush()
        }
        #expect(taken == sent)
        expect(!buffer.hasUnsent)
    }

    @Test("says why it cannot send")
    func broken() throws {
        signal(SIGPIPE, SIG_IGN)
        let stream = try Stream()
        let buffer = SocketBuffer(stream.near)
        buffer.gather(true)
        Stream.write(stream.near, [1])
        _ = shutdown(stream.near, Int32(SHUT_WR))
        do throws(SystemError) {
            try buffer.flush()
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == SystemError("write", code: EPIPE))
        }
    }

    @Test("ends when its socket is closed: the number may be another file's")
    func reuse() throws {
        let stream = try Stream()
        let number = dup(stream.near)
        let buffer = SocketBuffer(number)
        Stream.write(stream.far, [1, 2, 3])
        #expect(Stream.read(number, 1) == [1])
        buffer.gather(true)
        Stream.write(number, [9])
        _ = close(number)
        let other = try Stream()
        #expect(dup2(other.near, number) == number)
        defer { _ = close(number) }
        Stream.write(other.far, [7])
        #expect(Stream.read(number) == [7])
        Stream.write(number, [8])
        #expect(Stream.read(other.far) == [8])
        try buffer.flush()
        #expect(Stream.read(other.far) == nil)
        #expect(Stream.read(stream.far) == nil)
    }

    @Test("leaves the wake-ups of libmosquitto away, and nothing else")
    func muted() throws {
        let stream = try Stream()
        let result = WakeUps.muted {
            Stream.write(stream.near, [0])
            Stream.write(stream.near, [1, 2])
            return 7
        }
        #expect(result == 7)
        Stream.write(stream.near, [3])
        #expect(Stream.read(stream.far) == [1, 2, 3])
    }
}
