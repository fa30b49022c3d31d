import Glibc
@testable import LinuxIO
import Testing

@Suite("Control socket")
struct ControlSocketTests {
    @Test("answers a line with a line and knows who asks")
    func conversation() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        let socket = try ControlSocket(path: path)
        #expect(try PrivateFolderTests.mode(path) == 0o660)
        let asker = try Asker(path, Array("hello".utf8))
        let connection = try accepted(socket)
        #expect(connection.peer.user == geteuid() && connection.peer.process == getpid())
        #expect(try line(connection) == Array("hello".utf8))
        let answer = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
        #expect(connection.send(answer + [UInt8(ascii: "\n")]))
        while connection.hasUnsent {
            var poller = Poller()
            poller.add(connection.descriptor, read: false, write: true)
            try #require(try poller.wait(.seconds(10)) == 1)
            #expect(connection.flush())
        }
        #expect(asker.answer() == .success(answer))
    }

    @Test("ends with the asker's patience, or with the service")
    func failures() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        #expect(throws: ControlClient.Failure.notRunning(path: path)) {
            try ControlClient.request(path, [], timeout: .seconds(1))
        }
        do {
            let socket = try ControlSocket(path: path)
            #expect(throws: ControlClient.Failure.timedOut) {
                try ControlClient.request(path, [], timeout: .milliseconds(20))
            }
            let asker = try Asker(path, [])
            _ = try accepted(socket)
            _ = try accepted(socket)
            #expect(asker.answer() == .failure(.brokenAnswer))
            #expect(throws: FileFailure.inUse(path: path)) { _ = try ControlSocket(path: path) }
        }
        #expect(try PrivateFolderTests.names(folder.path).isEmpty)
    }

    @Test("replaces a socket that nobody listens on, and nothing else")
    func stale() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let address = try #require(UnixAddress(path))
        try #require(unsafe address.withPointer { unsafe bind(raw, $0, $1) } == 0)
        close(raw)
        _ = try ControlSocket(path: path)
        try PrivateFile.write(path, [1])
        #expect(throws: FileFailure.wrongKind(path: path)) { _ = try ControlSocket(path: path) }
        #expect(try PrivateFile.read(path, limit: 1) == [1])
    }

    @Test("leaves alone what another user has put there, for root, too",
          .enabled(if: geteuid() == 0, "only root makes another user's files"))
    func foreign() throws {
        let folder = try TemporaryFolder()
        for makes in [S_IFSOCK, S_IFREG] {
            let path = folder.path + "/agent-\(makes).sock"
            try #require(unsafe mknod(path, makes | 0o777, 0) == 0)
            try #require(unsafe chown(path, 65534, 65534) == 0)
            #expect(throws: FileFailure.foreignOwner(path: path, user: 65534)) {
                _ = try ControlSocket(path: path)
            }
        }
    }

    @Test("hangs up on a line without end")
    func tooLong() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        let socket = try ControlSocket(path: path)
        let long = [UInt8](repeating: 1, count: ControlConnection.lineLimit + 1)
        let asker = try Asker(path, long)
        let connection = try accepted(socket)
        var input = connection.read()
        while input == .incomplete { input = connection.read() }
        #expect(input == .tooLong)
        _ = consume connection
        _ = asker.answer()
    }

    private func accepted(_ socket: borrowing ControlSocket) throws -> ControlConnection {
        var poller = Poller()
        poller.add(socket.descriptor, read: true, write: false)
        try #require(try poller.wait(.seconds(10)) == 1)
        return try #require(try socket.accept())
    }

    private func line(_ connection: ControlConnection) throws -> [UInt8]? {
        while true {
            switch connection.read() {
            case .line(let bytes): return bytes
            case .closed, .tooLong: return nil
            case .incomplete:
                var poller = Poller()
                poller.add(connection.descriptor, read: true, write: false)
                try #require(try poller.wait(.seconds(10)) == 1)
            }
        }
    }
}

/// Asks on a thread of its own, as a tool would from its own process.
private final class Asker {
    private let box: Box
    private let thread: WorkerThread

    private final class Box: @unchecked Sendable {
        // Written before the thread ends, read after it was joined.
        var answer: Result<[UInt8], ControlClient.Failure> = .failure(.timedOut)
    }

    init(_ path: String, _ bytes: [UInt8]) throws {
        let box = Box()
        self.box = box
        thread = try WorkerThread(name: "asker") {
            do throws(ControlClient.Failure) {
                box.answer = .success(
                    try ControlClient.request(path, bytes, timeout: .seconds(10)))
            } catch {
                box.answer = .failure(error)
            }
        }
    }

    func answer() -> Result<[UInt8], ControlClient.Failure> {
        thread.join()
        return box.answer
    }
}

@Suite("Notifier")
struct NotifierTests {
    @Test("speaks to a socket by path and by abstract name", arguments: ["path", "abstract"])
    func datagrams(kind: String) throws {
        let folder = try TemporaryFolder()
        let name = kind == "path" ? folder.path + "/notify" : "@" + folder.path
        let raw = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(raw) }
        let address = try #require(UnixAddress(name))
        try #require(unsafe address.withPointer { unsafe bind(raw, $0, $1) } == 0)
        let notifier = Notifier(socket: name, watchdogMicroseconds: "30000000",
                                watchdogProcess: "\(getpid())")
        notifier.ready()
        notifier.status("two\nlines")
        #expect(receive(raw) == "READY=1")
        #expect(receive(raw) == "STATUS=two lines")
        #expect(notifier.watchdogInterval == .seconds(30))
    }

    @Test("is silent without systemd, and knows a watchdog that is another's")
    func absent() {
        let notifier = Notifier(socket: nil, watchdogMicroseconds: "5", watchdogProcess: "1")
        notifier.ready()
        notifier.watchdog()
        #expect(notifier.watchdogInterval == nil)
    }

    private func receive(_ raw: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = unsafe recv(raw, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}

@Suite("Host lookup")
struct HostLookupTests {
    @Test("finds addresses without holding up the poll", arguments: [
        ("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
    ])
    func found(host: String, address: String) throws {
        #expect(try outcome(host) == .found([address]))
    }

    @Test("says in words that there is no such name")
    func missing() throws {
        guard case .failed(let text) = try outcome("no-such-host.invalid") else {
            Issue.record("found what is not there")
            return
        }
        #expect(!text.isEmpty)
    }

    private func outcome(_ host: String) throws -> HostLookup.Outcome {
        let lookup = try HostLookup(host)
        var poller = Poller()
        poller.add(lookup.descriptor, read: true, write: false)
        try #require(try poller.wait(.seconds(30)) == 1)
        return lookup.outcome
    }
}

@Suite("Environment")
struct EnvironmentTests {
    @Test("knows the variables this process was started with")
    func variables() throws {
        let path = try #require(Environment.value("PATH"))
        #expect(Environment.all()["PATH"] == path)
        #expect(Environment.value("POSTERN_NO_SUCH_VARIABLE") == nil)
        #expect(ProcessOwner.hostName?.contains(".") != true)
    }
}
