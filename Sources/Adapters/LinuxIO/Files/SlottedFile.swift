import Glibc

/// A file in memory (a tmpfs such as `/run`) that is overwritten in place, slot by slot.
///
/// It survives the process, but not a power cut. Nothing is synced. After a crash a slot may hold
/// half of each of two contents, so each slot needs a checksum.
package struct SlottedFile: ~Copyable {
    private let file: Descriptor
    private let path: String
    package let slotBytes: Int

    /// Opens or makes the file. Only this user may read it. Throws for a link.
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

    /// Reads a slot; fewer bytes at the file's end.
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
