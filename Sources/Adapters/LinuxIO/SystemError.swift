import Glibc

/// A system call that failed: which one, and the `errno` it left.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    package let operation: String
    package let code: Int32

    package init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The failure that the last system call of this thread left. Call it at once.
    package static func last(_ operation: String) -> SystemError {
        SystemError(operation, code: errno)
    }

    /// The system's own words for the error, such as "Connection refused".
    ///
    /// The corresponding C function is `strerror_r`.
    package var text: String { Self.text(code) }

    package var description: String { "\(operation): \(text)" }

    /// The words for any `errno`, also one that a library reports.
    package static func text(_ code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)),
                      as: UTF8.self)
    }

    /// The `errno` of this thread, for an adapter whose library reports failures by it.
    package static var lastCode: Int32 { errno }
}

extension SystemError {
    /// Whether the code is `EPROTO`, by which a library says that a protocol broke.
    package static func isProtocolError(_ code: Int32) -> Bool { code == EPROTO }

    /// Whether there is no such file or folder.
    package var isMissing: Bool { code == ENOENT }

    /// Whether the other side broke off a connection that stood.
    package var isReset: Bool { code == ECONNRESET || code == EPIPE }
}
