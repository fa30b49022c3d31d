import Glibc

/// How much room a file system has, in bytes.
package struct FileSystemSpace: Equatable, Sendable {
    package let total: Int64
    /// What a program without privileges may still take.
    package let available: Int64
    /// It may not be written, now at least.
    package let isReadOnly: Bool

    /// Of the file system that holds `path`; nil where it does not say.
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
