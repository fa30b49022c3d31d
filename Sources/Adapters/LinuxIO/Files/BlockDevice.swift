import Glibc

/// The device that a file system stands on, by its numbers.
package struct BlockDevice: Equatable, Sendable {
    package let major: UInt64
    package let minor: UInt64

    package init(major: UInt64, minor: UInt64) {
        self.major = major
        self.minor = minor
    }

    /// Of the file system that holds `path`; nil where there is no such file. Major 0 is no
    /// device of its own: memory, an overlay, a network's.
    ///
    /// The corresponding C function is `stat`. Source: makedev(3), glibc's 64-bit layout.
    package init?(holding path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        major = ((device >> 8) & 0xFFF) | ((device >> 32) & ~0xFFF)
        minor = (device & 0xFF) | ((device >> 12) & ~0xFF)
    }
}

/// Which kernel this is.
package enum KernelRelease {
    /// Such as "Linux 6.1.0-18-arm64 aarch64". The corresponding C function is `uname`.
    package static var current: String {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return "Linux" }
        let system = unsafe withUnsafeBytes(of: names.sysname) { unsafe text(Array($0)) }
        let release = unsafe withUnsafeBytes(of: names.release) { unsafe text(Array($0)) }
        let machine = unsafe withUnsafeBytes(of: names.machine) { unsafe text(Array($0)) }
        return "\(system) \(release) \(machine)"
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
