/// Secret bytes: keys, tokens, passwords.
///
/// The type has no `==` and no `Codable`, and its description does not show the bytes. It compares
/// in constant time. Its memory is overwritten when the last reference ends.
@safe
package final class SecretBytes: @unchecked Sendable {
    // Written once in `init` and only read afterwards, hence `@unchecked Sendable`.
    private let storage: UnsafeMutableRawBufferPointer

    /// Copies `bytes`. The caller is responsible for its own copy.
    package init(_ bytes: some Collection<UInt8>) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        // `copyBytes` is generic in the library and takes several times as long.
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

    /// Gives the bytes to `body` for the duration of the call.
    package func withBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe body(UnsafeRawBufferPointer(storage))
    }

    /// A plain copy, for a message that will be sealed next. The copy is not wiped.
    package func reveal() -> [UInt8] {
        unsafe Array(storage)
    }

    /// Whether both hold the same bytes. The time depends only on the lengths.
    package func matches(_ other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count {
            unsafe difference |= storage[index] ^ other.storage[index]
        }
        return difference == 0
    }

    /// Overwrites with zeros. Not inlined, so that the compiler keeps the writes before the free.
    @inline(never)
    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// Never shows the bytes: a secret in a log prints only as `(secret)`.
    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
