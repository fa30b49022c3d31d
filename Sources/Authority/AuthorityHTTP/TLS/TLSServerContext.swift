import COpenSSL
import Cryptography

/// The TLS settings of our HTTP server.
///
/// TLS 1.2 or later, with ciphers that have forward secrecy and authenticate. HTTP/1.1 only (ALPN).
/// No renegotiation, no resumption, no early data. It does not change after it is made, so threads
/// may share it. Source: RFC 9325 §3 and §4, RFC 7301 §3.2. The corresponding C type is `SSL_CTX`.
@safe
final class TLSServerContext: @unchecked Sendable {
    private let raw: OpaquePointer

    /// Throws the OpenSSL function that failed, for a bad certificate or key, or for a key that
    /// does not match the certificate. Throws `malformed` for an empty chain.
    init(
        _ chain: [Certificate], _ key: CertificateKey, clientAuthorities: [Certificate]?
    ) throws(CryptographyError) {
        ERR_clear_error()
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw Self.failure("SSL_CTX_new")
        }
        unsafe raw = context
        try speakOnlyWhatIsSafe()
        try show(chain, key)
        if let clientAuthorities { try ask(clientAuthorities) }
    }

    deinit { unsafe SSL_CTX_free(raw) }

    /// Makes a connection with this side as the server. The caller owns it.
    @unsafe
    func makeConnection() throws(CryptographyError) -> OpaquePointer {
        guard let connection = unsafe SSL_new(raw) else { throw Self.failure("SSL_new") }
        unsafe SSL_set_accept_state(connection)
        return unsafe connection
    }

    private func speakOnlyWhatIsSafe() throws(CryptographyError) {
        try unsafe check("SSL_CTX_set_min_proto_version", SSL_CTX_ctrl(
            raw, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil))
        try unsafe check("SSL_CTX_set_cipher_list", Int(SSL_CTX_set_cipher_list(
            raw, "ECDHE+AESGCM:ECDHE+CHACHA20")))
        unsafe SSL_CTX_set_options(
            raw, UInt64(1) << 30 /* SSL_OP_NO_RENEGOTIATION */
                | UInt64(1) << 14 /* SSL_OP_NO_TICKET */)
        try unsafe check("SSL_CTX_set_num_tickets", Int(SSL_CTX_set_num_tickets(raw, 0)))
        _ = unsafe SSL_CTX_ctrl(
            raw, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        // So an idle connection holds no record buffers.
        _ = unsafe SSL_CTX_ctrl(raw, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
        unsafe SSL_CTX_set_alpn_select_cb(raw, { _, chosen, length, offered, count, _ in
            let known: StaticString = "\u{8}http/1.1"
            var found: UnsafeMutablePointer<UInt8>?
            let result = unsafe SSL_select_next_proto(
                &found, length, known.utf8Start, UInt32(known.utf8CodeUnitCount), offered, count)
            guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            unsafe chosen?.pointee = UnsafePointer(found)
            return SSL_TLSEXT_ERR_OK
        }, nil)
    }

    private func show(_ chain: [Certificate], _ key: CertificateKey) throws(CryptographyError) {
        guard let own = chain.first else { throw .malformed }
        try unsafe own.withRaw { own throws(CryptographyError) in
            try unsafe check(
                "SSL_CTX_use_certificate", Int(SSL_CTX_use_certificate(raw, own)))
        }
        for next in chain.dropFirst() {
            try unsafe next.withRaw { next throws(CryptographyError) in
                try unsafe check("SSL_CTX_add1_chain_cert", SSL_CTX_ctrl(
                    raw, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(next)))
            }
        }
        try unsafe key.withKey { key throws(CryptographyError) in
            try unsafe check(
                "SSL_CTX_use_PrivateKey", Int(SSL_CTX_use_PrivateKey(raw, key)))
        }
        try unsafe check("SSL_CTX_check_private_key", Int(SSL_CTX_check_private_key(raw)))
    }

    private func ask(_ authorities: [Certificate]) throws(CryptographyError) {
        let store = unsafe SSL_CTX_get_cert_store(raw)
        for authority in authorities {
            try unsafe authority.withRaw { authority throws(CryptographyError) in
                try unsafe check(
                    "X509_STORE_add_cert", Int(X509_STORE_add_cert(store, authority)))
                try unsafe check(
                    "SSL_CTX_add_client_CA", Int(SSL_CTX_add_client_CA(raw, authority)))
            }
        }
        unsafe SSL_CTX_set_verify(
            raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }

    private func check(_ function: StaticString, _ result: Int) throws(CryptographyError) {
        guard result == 1 else { throw Self.failure(function) }
    }

    private static func failure(_ function: StaticString) -> CryptographyError {
        ERR_clear_error()
        return .openSSL("\(function)")
    }
}
