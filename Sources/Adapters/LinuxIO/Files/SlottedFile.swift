import Glibc

/// A file in memory (a tmpfs such as `/run`) that is overwritten in place, slot by slot.
///
/// It outlives this process and not the machine's power. Nothing is synced; what stands in a
/// slot after a crash may be half of two contents, so it needs a checksum of its own.
package struct SlottedFile: ~Copyable {
    private let file: Descriptor
    private let path: String
    package let slotBytes: Int

    /// Opens the file or makes it, readable by this user alone. It is never a link.
    package init(_ path: String, slotBytes: Int) throws(FileFailure) {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: 0o600)
        self.file = file
        self.path = path
        self.slotBytes = slotBytes
    }

    /// Overwrites the beginning of a slot. The corresponding C function is `pwrite`.
    package func write(_ bytes: [UInt8], slot: Int) throws(FileFailure) {
        guard bytes.count <= slotBytes else { throw .tooLarge(path: path, limit: slotBytes) }
        let count = unsafe bytes.withUnsafeBytes { buffer in
            unsafe pwrite(file.raw, buffer.baseAddress, buffer.count, off_t(slot * slotBytes))
        }
        guard count == bytes.count else { throw FileFailure(.last("pwrite"), path: path) }
    }

    /// What a slot holds; fewer bytes than a slot has at the file's end.
    package func read(slot: Int) throws(FileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: slotBytes)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe pread(file.raw, buffer.baseAddress, buffer.count, off_t(slot * slotBytes))
        }
        guard count >= 0 else { throw FileFailure(.last("pread"), path: path) }
        bytes.removeLast(slotBytes - count)
        return bytes
    }
}
