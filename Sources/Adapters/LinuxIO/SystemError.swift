import Glibc

/// A failed system call: its name and its `errno`.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    package let operation: String
    package let code: Int32

    package init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The error of this thread's last system call. Call it at once.
    package static func last(_ operation: String) -> SystemError {
        SystemError(operation, code: errno)
    }

    /// The system's text for the error, such as "Connection refused".
    ///
    /// The corresponding C function is `strerror_r`.
    package var text: String { Self.text(code) }

    package var description: String { "\(operation): \(text)" }

    /// The text for any `errno`, also for one that a library reports.
    package static func text(_ code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)),
                      as: UTF8.self)
    }

    /// The `errno` of this thread, for an adapter whose library sets it.
    package static var lastCode: Int32 { errno }
}

extension SystemError {
    /// Whether the code is `EPROTO`, by which a library reports a protocol error.
    package static func isProtocolError(_ code: Int32) -> Bool { code == EPROTO }

    /// Whether there is no such file or folder.
    package var isMissing: Bool { code == ENOENT }

    /// Whether the peer broke off an established connection.
    package var isReset: Bool { code == ECONNRESET || code == EPIPE }
}
