import Glibc

/// The client side of the control socket: it sends one line and receives one line.
package enum ControlClient {
    /// Why there is no answer.
    package enum Failure: Error, Equatable, Sendable {
        /// No process listens at that path: the service does not run.
        case notRunning(path: String)
        /// This user may not connect to the socket.
        case notPermitted(path: String)
        /// No whole answer came in time.
        case timedOut
        /// The service closed the connection before a whole answer, or the answer is over the
        /// limit.
        case brokenAnswer
        case failed(SystemError)
    }

    /// Sends `bytes` and a newline. Returns the answer up to its newline, or all of it if the
    /// service closes first. Blocks for at most `timeout`.
    package static func request(
        _ path: String, _ bytes: [UInt8], timeout: Duration, limit: Int = 4 * 1_048_576
    ) throws(Failure) -> [UInt8] {
        guard let address = UnixAddress(path) else { throw .notRunning(path: path) }
        let deadline = SystemClock.monotonic + timeout
        do throws(SystemError) {
            let handle = try address.connect(within: timeout)
            try send(bytes + [UInt8(ascii: "\n")], handle, deadline)
            guard let answer = try receive(handle, deadline, limit) else { throw Stop.broken }
            return answer
        } catch {
            throw sort(error, path)
        }
    }

    /// Failures that are no system errors, carried as system errors.
    private enum Stop {
        static let broken = SystemError("answer", code: EPROTO)
        static let late = SystemError("answer", code: ETIMEDOUT)
    }

    private static func send(
        _ bytes: [UInt8], _ handle: borrowing Descriptor, _ deadline: Duration
    ) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            try wait(handle.raw, write: true, deadline)
            rest = rest.dropFirst(try handle.send(rest))
        }
    }

    private static func receive(
        _ handle: borrowing Descriptor, _ deadline: Duration, _ limit: Int
    ) throws(SystemError) -> [UInt8]? {
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            try wait(handle.raw, write: false, deadline)
            switch try handle.read(into: &chunk) {
            case .bytes(let count):
                let part = chunk.prefix(count)
                if let end = part.firstIndex(of: UInt8(ascii: "\n")) {
                    return answer + part[..<end]
                }
                guard answer.count + count <= limit else { return nil }
                answer.append(contentsOf: part)
            case .end: return answer.isEmpty ? nil : answer
            case .wouldBlock: continue
            }
        }
    }

    private static func wait(
        _ descriptor: Int32, write: Bool, _ deadline: Duration
    ) throws(SystemError) {
        var poller = Poller()
        poller.add(descriptor, read: !write, write: write)
        let left = deadline - SystemClock.monotonic
        guard left > .zero, try poller.wait(left) > 0 else { throw Stop.late }
    }

    private static func sort(_ error: SystemError, _ path: String) -> Failure {
        switch error.code {
        case ENOENT, ECONNREFUSED, ENOTDIR: .notRunning(path: path)
        case EACCES, EPERM: .notPermitted(path: path)
        case ETIMEDOUT, EAGAIN: .timedOut
        case EPROTO, EPIPE, ECONNRESET: .brokenAnswer
        default: .failed(error)
        }
    }
}

extension ControlClient.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notRunning(let path): "no answer at \(path): the service does not run"
        case .notPermitted(let path): "this user may not connect to \(path)"
        case .timedOut: "the service did not answer in time"
        case .brokenAnswer: "the service did not finish its answer"
        case .failed(let error): "\(error)"
        }
    }
}
