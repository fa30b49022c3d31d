import COpenSSL
import Sessions

/// One AES-GCM context with one key, freed with its owner. OpenSSL wipes the key.
///
/// The key is expanded once, and each message sets only its nonce. Sealing and opening may
/// alternate. The corresponding C type is `EVP_CIPHER_CTX`.
@safe
struct CipherContext: ~Copyable {
    private let raw: OpaquePointer

    /// A context without a key. Call `start` first.
    init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new())
    }

    deinit { unsafe EVP_CIPHER_CTX_free(raw) }

    /// Expands the key. Throws `malformed` unless the key has 32 bytes.
    mutating func start(key: SecretBytes) throws(CryptographyError) {
        guard key.count == AES256GCM.keyCount else { throw .malformed }
        try unsafe start(Algorithm.aes256GCM, key: key)
    }

    /// The same for AES-128-GCM. Throws `malformed` unless the key has 16 bytes.
    mutating func start128(key: SecretBytes) throws(CryptographyError) {
        guard key.count == AES128GCM.keyCount else { throw .malformed }
        try unsafe start(Algorithm.aes128GCM, key: key)
    }

    private func start(
        _ cipher: OpaquePointer, key: SecretBytes
    ) throws(CryptographyError) {
        let result = unsafe key.withBytes { key in
            let bytes = unsafe key.assumingMemoryBound(to: UInt8.self).baseAddress
            return unsafe EVP_EncryptInit_ex(raw, cipher, nil, bytes, nil)
        }
        try OpenSSL.one("EVP_EncryptInit_ex", result)
    }

    /// Appends ciphertext and tag to `record`. If it throws, `record` is unchanged.
    mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into record: inout [UInt8]
    ) throws(CryptographyError) {
        try Self.checkLengths(nonce: nonce, aad: aad, text: plaintext.count)
        let result = unsafe nonce.withUnsafeBufferPointer {
            unsafe EVP_EncryptInit_ex(raw, nil, nil, nil, $0.baseAddress)
        }
        try OpenSSL.one("EVP_EncryptInit_ex", result)
        try unsafe update(EVP_EncryptUpdate, "EVP_EncryptUpdate", aad, into: nil)
        let start = record.count
        record.append(contentsOf: repeatElement(0, count: plaintext.count + AES256GCM.tagCount))
        do {
            try unsafe record.withUnsafeMutableBufferPointer {
                buffer throws(CryptographyError) in
                let output = unsafe buffer.baseAddress.map { unsafe $0 + start }
                try unsafe update(EVP_EncryptUpdate, "EVP_EncryptUpdate", plaintext, into: output)
                let tag = unsafe output.map { unsafe $0 + plaintext.count }
                try unsafe finishSealing(tag: tag)
            }
        } catch {
            record.removeSubrange(start...)
            throw error
        }
    }

    /// Appends the plaintext to `plaintext`. If it throws, `plaintext` is unchanged, and the bytes
    /// decrypted before the tag was checked are overwritten.
    mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into plaintext: inout [UInt8]
    ) throws(CryptographyError) {
        guard sealed.count >= AES256GCM.tagCount else { throw .malformed }
        let count = sealed.count - AES256GCM.tagCount
        try Self.checkLengths(nonce: nonce, aad: aad, text: count)
        let result = unsafe nonce.withUnsafeBufferPointer {
            unsafe EVP_DecryptInit_ex(raw, nil, nil, nil, $0.baseAddress)
        }
        try OpenSSL.one("EVP_DecryptInit_ex", result)
        try unsafe update(EVP_DecryptUpdate, "EVP_DecryptUpdate", aad, into: nil)
        let start = plaintext.count
        plaintext.append(contentsOf: repeatElement(0, count: count))
        do {
            try unsafe plaintext.withUnsafeMutableBufferPointer {
                buffer throws(CryptographyError) in
                let output = unsafe buffer.baseAddress.map { unsafe $0 + start }
                let text = sealed.extracting(first: count)
                try unsafe update(EVP_DecryptUpdate, "EVP_DecryptUpdate", text, into: output)
                try finishOpening(tag: sealed.extracting(last: AES256GCM.tagCount))
            }
        } catch {
            unsafe plaintext.withUnsafeMutableBytes { buffer in
                let forged = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
                unsafe OPENSSL_cleanse(forged.baseAddress, forged.count)
            }
            plaintext.removeSubrange(start...)
            throw error
        }
    }

    private typealias Update = (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int32>?,
        UnsafePointer<UInt8>?, Int32
    ) -> Int32

    /// Adds `input` to the message. Without an output, `input` is additional data.
    private func update(
        _ function: Update, _ name: StaticString, _ input: Span<UInt8>,
        into output: UnsafeMutablePointer<UInt8>?
    ) throws(CryptographyError) {
        guard !input.isEmpty else { return }
        var written: Int32 = 0
        let result = unsafe input.withUnsafeBufferPointer {
            unsafe function(raw, output, &written, $0.baseAddress, Int32($0.count))
        }
        try OpenSSL.one(name, result)
    }

    private func finishSealing(tag: UnsafeMutablePointer<UInt8>?) throws(CryptographyError) {
        var written: Int32 = 0
        try unsafe OpenSSL.one("EVP_EncryptFinal_ex", EVP_EncryptFinal_ex(raw, tag, &written))
        let count = Int32(AES256GCM.tagCount)
        let result = unsafe EVP_CIPHER_CTX_ctrl(raw, EVP_CTRL_AEAD_GET_TAG, count, tag)
        try OpenSSL.one("EVP_CIPHER_CTX_ctrl", result)
    }

    private func finishOpening(tag: Span<UInt8>) throws(CryptographyError) {
        let result = unsafe tag.withUnsafeBufferPointer { tag in
            // OpenSSL only reads the tag, although its control function takes a mutable pointer.
            let bytes = unsafe UnsafeMutableRawPointer(mutating: tag.baseAddress)
            return unsafe EVP_CIPHER_CTX_ctrl(
                raw, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), bytes)
        }
        try OpenSSL.one("EVP_CIPHER_CTX_ctrl", result)
        var nothing: UInt8 = 0
        var written: Int32 = 0
        let verdict = unsafe EVP_DecryptFinal_ex(raw, &nothing, &written)
        // For a wrong tag the result is 0 or negative, depending on the version. No other failure
        // is known here.
        guard try OpenSSL.verdict("EVP_DecryptFinal_ex", max(verdict, 0)) else {
            throw .notAuthentic
        }
    }

    private static func checkLengths(
        nonce: Span<UInt8>, aad: Span<UInt8>, text: Int
    ) throws(CryptographyError) {
        guard nonce.count == AES256GCM.nonceCount, aad.count <= AES256GCM.limit,
            text <= AES256GCM.limit
        else { throw .malformed }
    }
}
