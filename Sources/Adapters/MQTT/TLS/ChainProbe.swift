import COpenSSL
import LinuxIO
import Wire

/// One TLS handshake that verifies nothing. It shows which certificates a server sends.
///
/// TLS 1.2 at least. The connection is closed when its owner is freed. No byte of a higher protocol
/// is sent. The corresponding C type is `SSL`.
@safe
struct ChainProbe: ~Copyable {
    private let context: OpaquePointer
    private let connection: OpaquePointer
    private let socket: DialedSocket

    /// Prepares the handshake; sends nothing yet. `host` is the server name to ask for.
    init(over socket: consuming DialedSocket, host: String) throws(MQTTError) {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw .tls("no TLS context: \(OpenSSLError.take())")
        }
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        guard let connection = unsafe SSL_new(context),
            unsafe SSL_set_fd(connection, socket.descriptor) == 1
        else {
            unsafe SSL_CTX_free(context)
            throw .tls("no TLS connection: \(OpenSSLError.take())")
        }
        unsafe SSL_set_connect_state(connection)
        unsafe (self.context, self.connection) = (context, connection)
        self.socket = socket
        setServerName(host)
    }

    deinit {
        unsafe SSL_free(connection)
        unsafe SSL_CTX_free(context)
        ERR_clear_error()
    }

    /// Sends the server name, unless it is an address. Source: RFC 6066 §3.
    private func setServerName(_ host: String) {
        guard let address = unsafe a2i_IPADDRESS(host) else {
            ERR_clear_error()
            var name = Array(host.utf8CString)
            _ = unsafe SSL_ctrl(
                connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
            return
        }
        unsafe ASN1_OCTET_STRING_free(address)
    }

    /// Returns the server's self-signed CA with this fingerprint, as PEM.
    func authority(
        _ fingerprint: CertificateFingerprint, until end: Duration
    ) throws(MQTTError) -> String {
        do throws(MQTTError) {
            try handshake(until: end)
        } catch {
            // A server that requires a client certificate ends the handshake, but it has sent its
            // own chain.
            guard unsafe SSL_get_peer_cert_chain(connection) != nil else { throw error }
        }
        return try find(fingerprint)
    }

    private func handshake(until end: Duration) throws(MQTTError) {
        while true {
            ERR_clear_error()
            let result = unsafe SSL_do_handshake(connection)
            if result == 1 { return }
            switch unsafe SSL_get_error(connection, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
                let wantsWrite = unsafe SSL_want(connection) == SSL_WRITING
                guard try wait(write: wantsWrite, until: end) else {
                    throw .tls("no handshake in time")
                }
            case SSL_ERROR_SSL: throw .tls(OpenSSLError.take())
            default:
                ERR_clear_error()
                throw .tls("the server closed the connection in the handshake")
            }
        }
    }

    /// False after the time limit.
    private func wait(write: Bool, until end: Duration) throws(MQTTError) -> Bool {
        let left = end - SystemClock.monotonic
        guard left > .zero else { return false }
        var poller = Poller()
        poller.add(socket.descriptor, read: !write, write: write)
        do throws(SystemError) {
            return try poller.wait(left) > 0
        } catch {
            throw .tcp("\(error)")
        }
    }
}

// The certificates that the server sent.
extension ChainProbe {
    /// The largest number of certificates that are examined.
    private static let longestChain: Int32 = 16

    private func find(_ fingerprint: CertificateFingerprint) throws(MQTTError) -> String {
        let chain = unsafe SSL_get_peer_cert_chain(connection)
        for index in 0..<min(unsafe OPENSSL_sk_num(chain), Self.longestChain) {
            guard let raw = unsafe OPENSSL_sk_value(chain, index) else { continue }
            let certificate = OpaquePointer(raw)
            guard unsafe Self.matches(certificate, fingerprint) else { continue }
            // Without both properties it is a server's own certificate, not a CA.
            guard unsafe X509_check_ca(certificate) == 1,
                unsafe X509_self_signed(certificate, 1) == 1
            else {
                ERR_clear_error()
                throw .tls("the certificate with that fingerprint is not a self-signed CA")
            }
            return try unsafe Self.pem(certificate)
        }
        throw .tls("the server sends no CA certificate with that fingerprint")
    }

    @unsafe
    private static func matches(
        _ certificate: OpaquePointer, _ fingerprint: CertificateFingerprint
    ) -> Bool {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard unsafe X509_digest(certificate, EVP_sha256(), &digest, &count) == 1,
            Int(count) == fingerprint.bytes.count
        else { return false }
        return unsafe CRYPTO_memcmp(digest, fingerprint.bytes, Int(count)) == 0
    }

    @unsafe
    private static func pem(_ certificate: OpaquePointer) throws(MQTTError) -> String {
        guard let buffer = unsafe BIO_new(BIO_s_mem()) else {
            throw .tls("no memory: \(OpenSSLError.take())")
        }
        defer { unsafe BIO_free(buffer) }
        var start: UnsafeMutableRawPointer?
        guard unsafe PEM_write_bio_X509(buffer, certificate) == 1 else {
            throw .tls("the certificate: \(OpenSSLError.take())")
        }
        let count = unsafe BIO_ctrl(buffer, BIO_CTRL_INFO, 0, &start)
        guard let start = unsafe start, count > 0 else { throw .tls("an empty certificate") }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}
