import Glibc

/// The device that holds a file system, by its numbers.
package struct BlockDevice: Equatable, Sendable {
    package let major: UInt64
    package let minor: UInt64

    package init(major: UInt64, minor: UInt64) {
        self.major = major
        self.minor = minor
    }

    /// The device of the file system that holds `path`. Nil if there is no such file. Major 0 means
    /// no block device: memory, an overlay or a network file system.
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

/// The running kernel: its name, release and machine type.
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
