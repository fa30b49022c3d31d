/// Bytes that must not be seen: keys, tokens, passwords.
///
/// It has no `==`, no description and no `Codable`; it compares in constant time, and its
/// memory is overwritten when the last reference goes.
@safe
package final class SecretBytes: @unchecked Sendable {
    // Written once in `init` and only read afterwards, hence `@unchecked Sendable`.
    private let storage: UnsafeMutableRawBufferPointer

    /// Copies `bytes`. The caller's own copy is the caller's to forget.
    package init(_ bytes: some Collection<UInt8>) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        // `copyBytes` is generic in the library, and costs several times as much.
        let isCopied: Void? = unsafe bytes.withContiguousStorageIfAvailable { [storage] bytes in
            unsafe storage.copyMemory(from: UnsafeRawBufferPointer(bytes))
        }
        if isCopied == nil { unsafe storage.copyBytes(from: bytes) }
    }

    deinit {
        unsafe Self.wipe(storage)
        unsafe storage.deallocate()
    }

    package var count: Int { unsafe storage.count }

    /// Lends the bytes to `body` for the length of the call.
    package func withBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe body(UnsafeRawBufferPointer(storage))
    }

    /// A plain copy, for a message that is about to be sealed. It is not wiped.
    package func reveal() -> [UInt8] {
        unsafe Array(storage)
    }

    /// Whether both hold the same bytes; the time depends on the lengths alone.
    package func matches(_ other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count {
            unsafe difference |= storage[index] ^ other.storage[index]
        }
        return difference == 0
    }

    /// Overwrites with zeros; not inlined, so that the writes before a free are kept.
    @inline(never)
    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// Never the bytes: a secret that reaches a log says only that it is one.
    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
