import Sessions

/// C strings for libpq: pointers to bytes that end with NUL, and a null pointer at the end. The
/// bytes are wiped when freed, because one of them is a password.
@safe
struct CStringArray: ~Copyable {
    private let storage: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>
    private let texts: [SecretBytes]
    private let copies: UnsafeMutableRawBufferPointer

    /// All of `texts`, then `last` unless it is nil.
    init(_ texts: [[UInt8]], also last: String) {
        self.init(texts.map { SecretBytes($0) } + [SecretBytes(last.utf8)])
    }

    init(_ texts: [[UInt8]], also last: SecretBytes?) {
        self.init(texts.map { SecretBytes($0) } + (last.map { [$0] } ?? []))
    }

    private init(_ texts: [SecretBytes]) {
        self.texts = texts
        let size = texts.reduce(0) { $0 + $1.count + 1 }
        unsafe copies = .allocate(byteCount: size, alignment: 1)
        unsafe copies.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe storage = .allocate(capacity: texts.count + 2)
        unsafe storage.initialize(repeating: nil)
        var offset = 0
        for (index, text) in texts.enumerated() {
            let room = unsafe UnsafeMutableRawBufferPointer(
                rebasing: copies[offset..<offset + text.count])
            unsafe text.withBytes { unsafe room.copyMemory(from: $0) }
            unsafe storage[index] = unsafe copies.baseAddress.map {
                unsafe UnsafePointer(($0 + offset).assumingMemoryBound(to: CChar.self))
            }
            offset += text.count + 1
        }
    }

    deinit {
        unsafe Self.wipe(copies)
        unsafe copies.deallocate()
        unsafe storage.deallocate()
    }

    /// Not inlined, so that the compiler keeps the writes before the free.
    @inline(never)
    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Lends the array to `body`.
    @unsafe
    func lend<R>(to body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R) -> R {
        unsafe body(UnsafePointer(storage.baseAddress))
    }
}
