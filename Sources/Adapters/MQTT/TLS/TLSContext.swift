import COpenSSL
import LinuxIO

/// The TLS context of one connection. It is our own, so that OpenSSL checks the host name.
///
/// libmosquitto's own check compares names as C strings (a NUL in a certificate ends them) and
/// falls back to the common name. The corresponding C type is `SSL_CTX`.
@safe
struct TLSContext: ~Copyable {
    let raw: OpaquePointer

    /// Makes a context. Throws `tls` if a file cannot be used.
    ///
    /// A certificate's fault is recorded in the inbox, which must outlive the context.
    static func make(
        _ options: TLSOptions, host: String, _ inbox: Inbox
    ) throws(MQTTError) -> TLSContext {
        let context = try TLSContext()
        inbox.isClockSlow = options.isClockSlow
        unsafe SSL_CTX_set_ex_data(
            context.raw, 0, Unmanaged.passUnretained(inbox).toOpaque())
        try context.setHost(host)
        try context.loadAuthorities(options)
        try context.loadIdentity(options)
        return context
    }

    /// Requires TLS 1.2 at least, and a certificate from the peer.
    private init() throws(MQTTError) {
        guard let method = unsafe TLS_client_method(),
              let context = unsafe SSL_CTX_new(method) else {
            throw .tls("no TLS context: \(OpenSSLError.take())")
        }
        unsafe raw = context
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { isFine, store in
            guard isFine == 0, let store = unsafe store else { return isFine }
            return unsafe TLSContext.letsPass(store) ? 1 : 0
        }
        // A key with a passphrase is refused. Otherwise OpenSSL would ask on the terminal and wait.
        unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // With this mode an idle connection holds no record buffers.
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
        unsafe SSL_CTX_set_info_callback(context) { connection, event, _ in
            guard event == SSL_CB_HANDSHAKE_START else { return }
            unsafe TLSContext.setServerName(connection)
        }
    }

    deinit { unsafe SSL_CTX_free(raw) }

    /// Requires a certificate for `host`, a name or a numeric address.
    private func setHost(_ host: String) throws(MQTTError) {
        guard let parameters = unsafe SSL_CTX_get0_param(raw) else {
            throw .tls("no TLS parameters: \(OpenSSLError.take())")
        }
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
        ERR_clear_error()
        // X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS: "*.example", never "b*r.example".
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, 0x4)
        guard unsafe X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count) == 1 else {
            throw .tls("not a host name: \(host)")
        }
    }

    private func loadAuthorities(_ options: TLSOptions) throws(MQTTError) {
        guard let file = options.caFile else {
            guard unsafe SSL_CTX_set_default_verify_paths(raw) == 1 else {
                throw .tls("the system's certificates: \(OpenSSLError.take())")
            }
            return
        }
        guard unsafe SSL_CTX_load_verify_file(raw, file) == 1 else {
            throw .tls("the CA file \(file): \(OpenSSLError.take())")
        }
    }

    private func loadIdentity(_ options: TLSOptions) throws(MQTTError) {
        guard let certificate = options.certificateFile, let key = options.keyFile else { return }
        do throws(FileFailure) {
            try PrivateFile.check(
                key, strictestMode: TLSOptions.keyMode, followsLinks: true)
        } catch {
            throw .tls("the key: \(error)")
        }
        guard unsafe SSL_CTX_use_certificate_chain_file(raw, certificate) == 1 else {
            throw .tls("the certificate \(certificate): \(OpenSSLError.take())")
        }
        guard unsafe SSL_CTX_use_PrivateKey_file(raw, key, SSL_FILETYPE_PEM) == 1,
              unsafe SSL_CTX_check_private_key(raw) == 1 else {
            throw .tls("the key \(key): \(OpenSSLError.take())")
        }
    }

    /// Records the certificate's first fault, unless the slow clock excuses it. OpenSSL's error
    /// queue does not name it, and libmosquitto may free the connection before we could ask.
    @unsafe
    private static func letsPass(_ store: OpaquePointer) -> Bool {
        let index = SSL_get_ex_data_X509_STORE_CTX_idx()
        guard let connection = unsafe X509_STORE_CTX_get_ex_data(store, index),
              let context = unsafe SSL_get_SSL_CTX(OpaquePointer(connection)),
              let data = unsafe SSL_CTX_get_ex_data(context, 0) else { return false }
        let inbox = unsafe Unmanaged<Inbox>.fromOpaque(data).takeUnretainedValue()
        let code = Int(unsafe X509_STORE_CTX_get_error(store))
        if inbox.isClockSlow, code == Int(X509_V_ERR_CERT_NOT_YET_VALID) {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        guard inbox.certificateError == nil,
              let text = unsafe X509_verify_cert_error_string(code) else { return false }
        unsafe inbox.certificateError = String(cString: text)
        return false
    }

    /// Sends the server name that is checked. libmosquitto would send its connect address, which
    /// may be the address from the lookup. For a numeric host nothing is sent. Source: RFC 6066 §3.
    private static func setServerName(_ connection: OpaquePointer?) {
        guard let connection = unsafe connection,
              let parameters = unsafe SSL_get0_param(connection) else { return }
        let host = unsafe X509_VERIFY_PARAM_get0_host(parameters, 0)
        _ = unsafe SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                            Int(TLSEXT_NAMETYPE_host_name), host)
    }
}

/// OpenSSL's error queue of this thread.
enum OpenSSLError {
    /// Returns the text of the oldest error and empties the queue.
    static func take() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let text = unsafe ERR_reason_error_string(code) else {
            return "no reason given"
        }
        return unsafe String(cString: text)
    }
}
