import CTSS2
import Sessions

/// One use of a TPM, from opening the libraries to closing them.
///
/// The corresponding C type is `ESYS_CONTEXT`.
@safe
final class Conversation {
    /// The storage root key's public part.
    private(set) var parent: [UInt8] = []
    private let libraries: Libraries
    private var transport: OpaquePointer?
    private var context: OpaquePointer?
    /// The objects and sessions that this use created in the TPM, in order of creation.
    private var handles: [ESYS_TR] = []

    private static let none = ESYS_TR(ESYS_TR_NONE)
    /// The largest size of a marshalled structure, in bytes.
    private static let room = 2048

    init(_ place: String) throws(TrustedPlatformError) {
        libraries = try Libraries()
        let opened = unsafe libraries.functions.open_transport?(place, &transport)
        guard opened == 0, unsafe transport != nil else { throw .unreachable(transport: place) }
        let begun = unsafe libraries.functions.begin?(&context, transport, nil)
        guard begun == 0, unsafe context != nil else { throw .unreachable(transport: place) }
        try createRoot()
    }

    deinit {
        if unsafe context != nil {
            for handle in handles.reversed() {
                _ = unsafe libraries.functions.flush?(context, handle)
            }
            unsafe libraries.functions.end?(&context)
        }
        if unsafe transport != nil { unsafe libraries.functions.close_transport?(&transport) }
    }

    /// Creates the same key each time, because the TPM derives it from its seed and the template.
    private func createRoot() throws(TrustedPlatformError) {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var template = tss_storage_root()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var handle = Self.none
        var made: UnsafeMutablePointer<TPM2B_PUBLIC>?
        try Self.check("TPM2_CreatePrimary", unsafe libraries.functions.create_primary?(
            context, ESYS_TR(ESYS_TR_RH_OWNER), ESYS_TR(ESYS_TR_PASSWORD), Self.none, Self.none,
            &sensitive, &template, &outside, &registers, &handle, &made, nil, nil, nil))
        handles.append(handle)
        defer { unsafe libraries.functions.release?(made) }
        parent = try unsafe marshal { bytes, offset in
            unsafe libraries.functions.write_public?(made, bytes, Self.room, offset)
        }
    }

    /// Starts the session that authenticates each command and encrypts its secrets. The session's
    /// key is agreed with the storage root key. Source: TPM 2.0 Library, Part 1, §19.6.5 and §21.
    func startSession() throws(TrustedPlatformError) {
        var cipher = TPMT_SYM_DEF()
        cipher.algorithm = TPMI_ALG_SYM(TPM2_ALG_AES)
        unsafe cipher.keyBits.aes = 128
        unsafe cipher.mode.aes = TPMI_ALG_SYM_MODE(TPM2_ALG_CFB)
        var session = Self.none
        try Self.check("TPM2_StartAuthSession", unsafe libraries.functions.start_session?(
            context, handles[0], Self.none, Self.none, Self.none, Self.none, nil,
            TPM2_SE(TPM2_SE_HMAC), &cipher, TPMI_ALG_HASH(TPM2_ALG_SHA256), &session))
        handles.append(session)
    }

    /// Sets whether the first parameter of the next command is encrypted. That of the answer always
    /// is.
    private func hide(command: Bool) throws(TrustedPlatformError) {
        let wanted = UInt32(TPMA_SESSION_CONTINUESESSION) | UInt32(TPMA_SESSION_ENCRYPT)
            | (command ? UInt32(TPMA_SESSION_DECRYPT) : 0)
        try Self.check("the session's attributes", unsafe libraries.functions.set_attributes?(
            context, handles[1], TPMA_SESSION(wanted), 0xFF))
    }

    func seal(_ secret: SecretBytes) throws(TrustedPlatformError) -> SealedKey {
        try hide(command: true)
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { unsafe tss_wipe(&sensitive, MemoryLayout<TPM2B_SENSITIVE_CREATE>.size) }
        sensitive.sensitive.data.size = UInt16(secret.count)
        unsafe withUnsafeMutableBytes(of: &sensitive.sensitive.data.buffer) { buffer in
            unsafe secret.withBytes { unsafe buffer.copyMemory(from: $0) }
        }
        var template = tss_sealed_secret()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var privatePart: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var publicPart: UnsafeMutablePointer<TPM2B_PUBLIC>?
        try Self.check("TPM2_Create", unsafe libraries.functions.create?(
            context, handles[0], handles[1], Self.none, Self.none, &sensitive, &template,
            &outside, &registers, &privatePart, &publicPart, nil, nil, nil))
        defer {
            unsafe libraries.functions.release?(privatePart)
            unsafe libraries.functions.release?(publicPart)
        }
        return SealedKey(
            parent: parent,
            publicPart: try unsafe marshal { bytes, offset in
                unsafe libraries.functions.write_public?(publicPart, bytes, Self.room, offset)
            },
            privatePart: try unsafe marshal { bytes, offset in
                unsafe libraries.functions.write_private?(privatePart, bytes, Self.room, offset)
            })
    }

    func unseal(_ key: SealedKey) throws(TrustedPlatformError) -> SecretBytes {
        var publicPart = TPM2B_PUBLIC()
        var privatePart = TPM2B_PRIVATE()
        var offset = 0
        let isRead = unsafe libraries.functions.read_public?(
            key.publicPart, key.publicPart.count, &offset, &publicPart)
        guard isRead == 0, offset == key.publicPart.count else { throw .damaged }
        offset = 0
        let isReadToo = unsafe libraries.functions.read_private?(
            key.privatePart, key.privatePart.count, &offset, &privatePart)
        guard isReadToo == 0, offset == key.privatePart.count else { throw .damaged }
        try hide(command: true)
        var handle = Self.none
        let loaded = unsafe libraries.functions.load?(
            context, handles[0], handles[1], Self.none, Self.none, &privatePart, &publicPart,
            &handle)
        guard loaded == 0 else { throw Self.failure("TPM2_Load", loaded) }
        handles.append(handle)
        try hide(command: false)
        var opened: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        try Self.check("TPM2_Unseal", unsafe libraries.functions.unseal?(
            context, handle, handles[1], Self.none, Self.none, &opened))
        guard let data = unsafe opened else { throw .damaged }
        defer {
            unsafe tss_wipe(data, MemoryLayout<TPM2B_SENSITIVE_DATA>.size)
            unsafe libraries.functions.release?(data)
        }
        let count = Int(unsafe data.pointee.size)
        return try unsafe withUnsafeBytes(of: &data.pointee.buffer) {
            (buffer) throws(TrustedPlatformError) in
            guard count <= buffer.count else { throw .damaged }
            return unsafe SecretBytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private func marshal(
        _ write: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>) -> TSS2_RC?
    ) throws(TrustedPlatformError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.room)
        var count = 0
        let result = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            unsafe write(buffer.baseAddress, &count)
        }
        try Self.check("marshalling", result)
        return Array(bytes.prefix(count))
    }

    private static func check(_ function: String, _ code: TSS2_RC?) throws(TrustedPlatformError) {
        guard code != 0 else { return }
        throw .refused(function: function, code: code ?? .max)
    }

    /// A changed blob fails its integrity check or has a wrong form. The error then names a
    /// parameter.
    ///
    /// Source: TPM 2.0 Library, Part 2, §6.6.3, TPM_RC_INTEGRITY and the format-one codes.
    private static func failure(_ function: String, _ code: TSS2_RC?) -> TrustedPlatformError {
        let code = code ?? .max
        let isOfChip = code >> 16 == 0
        let isOfParameter = code & 0xC0 == 0xC0
        return isOfChip && isOfParameter ? .damaged : .refused(function: function, code: code)
    }
}

/// The libraries of tpm2-tss. They are closed when this object ends.
@safe
private final class Libraries {
    let functions: tss_functions

    init() throws(TrustedPlatformError) {
        var functions = tss_functions()
        guard unsafe tss_open(&functions) else { throw .noLibrary }
        self.functions = functions
    }

    deinit {
        var functions = functions
        unsafe tss_close(&functions)
    }
}
