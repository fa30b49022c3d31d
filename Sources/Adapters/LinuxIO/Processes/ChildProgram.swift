import Glibc

/// Runs a system program and returns its output, within bounds.
package enum ChildProgram {
    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        case notInstalled(String)
        case failed(SystemError)
        case ended(Int32)

        package var description: String {
            switch self {
            case .notInstalled(let name): "\(name) is not installed"
            case .failed(let error): "\(error)"
            case .ended(let status): "it ended with \(status)"
            }
        }
    }

    /// The most that a program can get on its standard input: the smallest capacity of a pipe.
    /// Source: pipe(7).
    package static let inputLimit = 4096

    /// Runs `name` from `/usr/bin`, `/bin`, `/usr/sbin` or `/sbin`, in a minimal environment, with
    /// `input` on its standard input. Returns at most `limit` bytes of its standard output. After
    /// `patience`, or with more output, it is killed, and the output so far is returned.
    ///
    /// Secrets belong in `input`, because other users can read `arguments`. Throws `ended` if the
    /// status is not 0 and there was no output. The corresponding C function is `posix_spawn`.
    package static func output(
        of name: String, _ arguments: [String], input: [UInt8] = [], limit: Int,
        patience: Duration
    ) throws(Failure) -> [UInt8] {
        let paths: [String] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map { "\($0)/\(name)" }
        guard let path = paths.first(where: isProgram) else { throw .notInstalled(name) }
        do throws(SystemError) {
            let output = try Pipe()
            let child = try start(
                path, [name] + arguments, input: try Pipe.filled(input), output: output.writer)
            let bytes = read(output.reader, limit: limit, until: SystemClock.monotonic + patience)
            _ = kill(child, SIGKILL)
            let status = reap(child)
            guard !bytes.isEmpty || status == 0 else { throw SystemError("", code: -status) }
            return bytes
        } catch {
            if error.operation.isEmpty { throw .ended(-error.code) }
            throw .failed(error)
        }
    }

    private static func isProgram(_ path: String) -> Bool {
        unsafe access(path, X_OK) == 0
    }

    /// Both ends of a pipe. A program that is started gets neither, unless as a standard stream.
    private struct Pipe: ~Copyable {
        let reader: Descriptor
        let writer: Descriptor

        init() throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw .last("pipe") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            reader = Descriptor(owning: ends[0])
            writer = Descriptor(owning: ends[1])
        }

        /// A pipe that holds these bytes, and ends after them.
        static func filled(_ bytes: [UInt8]) throws(SystemError) -> Descriptor {
            let pipe = try Pipe()
            guard bytes.count <= inputLimit, try pipe.writer.write(bytes[...]) == bytes.count
            else { throw SystemError("write", code: EMSGSIZE) }
            return pipe.reader
        }
    }

    private static func start(
        _ path: String, _ arguments: [String], input: consuming Descriptor,
        output: consuming Descriptor
    ) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        _ = unsafe posix_spawn_file_actions_init(&actions)
        defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
        _ = unsafe posix_spawn_file_actions_adddup2(&actions, input.raw, 0)
        _ = unsafe posix_spawn_file_actions_adddup2(&actions, output.raw, 1)
        _ = unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var words = unsafe Self.copies(arguments)
        var environment = unsafe Self.copies(["PATH=/usr/bin:/bin", "LC_ALL=C"])
        defer { unsafe (words + environment).forEach { unsafe free($0) } }
        var child = pid_t()
        let code = unsafe posix_spawn(&child, path, &actions, nil, &words, &environment)
        guard code == 0 else { throw SystemError("posix_spawn", code: code) }
        return child
    }

    @unsafe
    private static func copies(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe words.map { unsafe strdup($0) } + [nil]
    }

    private static func read(
        _ reader: borrowing Descriptor, limit: Int, until end: Duration
    ) -> [UInt8] {
        _ = fcntl(reader.raw, F_SETFL, O_NONBLOCK)
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var poller = Poller()
        while all.count < limit {
            poller.clear()
            poller.add(reader.raw, read: true, write: false)
            let left = end - SystemClock.monotonic
            guard left > .zero, let ready = try? poller.wait(left), ready > 0,
                let read = try? reader.read(into: &chunk)
            else { break }
            guard case .bytes(let count) = read else {
                if case .wouldBlock = read { continue }
                break
            }
            all.append(contentsOf: chunk.prefix(min(count, limit - all.count)))
        }
        return all
    }

    /// The exit status, or the negative number of the signal that ended the program.
    private static func reap(_ child: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }
}
