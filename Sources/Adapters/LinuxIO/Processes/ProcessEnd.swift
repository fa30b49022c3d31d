import Glibc

/// Ends the process and writes its messages.
package enum ProcessEnd {
    /// Ends the process with this status. The corresponding C function is `exit`.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process with this status while other threads may still run. No exit handlers run,
    /// so no library is torn down. Buffered output is written first.
    ///
    /// The corresponding C functions are `fflush` and `_exit`.
    package static func leave(_ status: Int32) -> Never {
        _ = fflush(nil)
        _exit(status)
    }

    /// Writes a whole line to standard output or error, in one call if it fits.
    ///
    /// An error is not reported, because there is no place left to report it.
    package static func say(_ line: String, to stream: Terminal.Stream) {
        var rest = Array((inert(line) + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe write(stream.rawValue, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// The text with control characters replaced, except line ends and tabs. A peer, an app or a
    /// file may have written a part of it. Source: ECMA-48 §5.2, the C0 and C1 sets.
    private static func inert(_ text: String) -> String {
        func isActive(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0x09, 0x0A: false
            case 0..<0x20, 0x7F..<0xA0: true
            default: false
            }
        }
        guard text.unicodeScalars.contains(where: isActive) else { return text }
        return String(String.UnicodeScalarView(
            text.unicodeScalars.map { isActive($0) ? "\u{FFFD}" : $0 }))
    }
}
