import Glibc

/// The last words of a process.
package enum ProcessEnd {
    /// Ends the process with this status. The corresponding C function is `exit`.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Writes a line to standard output or error, whole, in one call if it fits.
    ///
    /// An error is not reported: there is nowhere left to report it to.
    package static func say(_ line: String, to stream: Terminal.Stream) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe write(stream.rawValue, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
