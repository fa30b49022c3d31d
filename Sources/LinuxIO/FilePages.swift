import Glibc

/// A file read page by page, some of which may not be readable.
package struct FilePages: ~Copyable {
    private let descriptor: Descriptor
    private let size: Int
    /// How many whole pages there are.
    package let count: Int

    /// The corresponding C functions are `open` and `fstat`.
    package init(_ path: String, size: Int) throws(FileFailure) {
        let raw = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let opened = Descriptor(owning: raw)
        var status = stat()
        guard unsafe fstat(raw, &status) == 0 else {
            throw FileFailure(.last("fstat"), path: path)
        }
        count = Int(status.st_size) / size
        self.size = size
        descriptor = opened
    }

    /// A page, the first being 1; empty if it is not there or cannot be read.
    ///
    /// The corresponding C function is `pread`.
    package func read(_ number: Int) -> [UInt8] {
        guard number >= 1, number <= count else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { bytes, filled in
            let length = unsafe pread(
                descriptor.raw, bytes.baseAddress, size, off_t((number - 1) * size))
            filled = length == size ? size : 0
        }
    }
}
