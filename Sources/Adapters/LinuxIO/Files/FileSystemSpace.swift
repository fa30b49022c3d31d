import Glibc

/// The size and free space of a file system, in bytes.
package struct FileSystemSpace: Equatable, Sendable {
    package let total: Int64
    /// The space that a program without privileges may still use.
    package let available: Int64
    /// Whether it is mounted read-only at present.
    package let isReadOnly: Bool

    /// Reads the file system that holds `path`. Nil if the system call fails.
    ///
    /// The corresponding C function is `statvfs`.
    package init?(at path: String) {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let unit = Int64(clamping: UInt64(status.f_frsize))
        let (total, isTooMuch) = Int64(clamping: UInt64(status.f_blocks))
            .multipliedReportingOverflow(by: unit)
        let (available, isMore) = Int64(clamping: UInt64(status.f_bavail))
            .multipliedReportingOverflow(by: unit)
        self.total = isTooMuch ? .max : total
        self.available = isMore ? .max : available
        isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
    }
}
