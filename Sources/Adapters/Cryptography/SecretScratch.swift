import COpenSSL
import Sessions

/// Memory for building a secret. It is overwritten when the scratch ends.
///
/// The corresponding C function is `OPENSSL_cleanse`.
@safe
struct SecretScratch: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0

    /// Room for `capacity` bytes, all zero.
    init(capacity: Int) {
        unsafe memory = .allocate(byteCount: capacity, alignment: 1)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        unsafe memory.deallocate()
    }

    /// Adds a copy of `bytes`. Traps if the capacity is too small, because that is a bug.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe precondition(bytes.count <= memory.count - used, "the scratch is too small")
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[used...]).copyMemory(from: bytes)
        used += bytes.count
    }

    mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    mutating func append(_ secret: SecretBytes) {
        unsafe secret.withBytes { unsafe append($0) }
    }

    /// Gives all of the memory to `body`, which must fill it.
    mutating func fill(
        _ body: (UnsafeMutableRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        try unsafe body(memory)
        used = unsafe memory.count
    }

    /// A copy of the added bytes. The scratch itself is overwritten.
    consuming func secret() -> SecretBytes {
        unsafe SecretBytes(UnsafeRawBufferPointer(rebasing: memory[..<used]))
    }
}

extension SecretBytes {
    /// `count` bytes written by `body`. The memory it writes to is overwritten afterwards.
    static func filled(
        count: Int, by body: (UnsafeMutableRawBufferPointer) throws(CryptographyError) -> Void
    ) throws(CryptographyError) -> SecretBytes {
        var scratch = SecretScratch(capacity: count)
        try unsafe scratch.fill(body)
        return scratch.secret()
    }
}
