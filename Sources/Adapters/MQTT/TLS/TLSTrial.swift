import COpenSSL
package import LinuxIO

/// One TLS handshake, made only to see its result.
package struct TLSTrial: Sendable {
    /// Such as "TLSv1.3".
    package let version: String
    /// How long the peer's certificate is still valid. Nil if that is unknown.
    package let timeLeft: Duration?

    /// Makes a TLS handshake with `host` over an open connection, as an `mqtts` connection would.
    /// TLS 1.2 at least; certificate and name are checked. The connection cannot be used
    /// afterwards.
    ///
    /// Throws `tls`, with the certificate's fault first. The corresponding C function is
    /// `SSL_connect`.
    package init(
        over socket: borrowing DialedSocket, host: String, options: TLSOptions, patience: Duration
    ) throws(MQTTError) {
        let inbox = Inbox(.v5, isTLS: true)
        let context = try TLSContext.make(options, host: host, inbox)
        guard let connection = unsafe SSL_new(context.raw) else {
            throw .tls("no TLS connection: \(OpenSSLError.take())")
        }
        defer { unsafe SSL_free(connection) }
        guard unsafe SSL_set_fd(connection, socket.descriptor) == 1 else {
            throw .tls("no TLS connection: \(OpenSSLError.take())")
        }
        let end = SystemClock.monotonic + patience
        var poller = Poller()
        while true {
            ERR_clear_error()
            let code = unsafe SSL_connect(connection)
            if code == 1 { break }
            let wanted = unsafe SSL_get_error(connection, code)
            guard wanted == SSL_ERROR_WANT_READ || wanted == SSL_ERROR_WANT_WRITE else {
                throw .tls(Self.fault(inbox, wanted))
            }
            poller.clear()
            poller.add(
                socket.descriptor, read: wanted == SSL_ERROR_WANT_READ,
                write: wanted == SSL_ERROR_WANT_WRITE)
            guard SystemClock.monotonic < end,
                let ready = try? poller.wait(end - SystemClock.monotonic), ready > 0
            else { throw .tls("no handshake in time") }
        }
        version = unsafe SSL_get_version(connection).map { unsafe String(cString: $0) } ?? "TLS"
        timeLeft = unsafe Self.timeLeft(connection)
        withExtendedLifetime(inbox) {}
    }

    private static func fault(_ inbox: Inbox, _ code: Int32) -> String {
        if let text = inbox.certificateError {
            ERR_clear_error()
            return "the certificate: \(text)"
        }
        if code == SSL_ERROR_SYSCALL || code == SSL_ERROR_ZERO_RETURN {
            return "the other side closed the connection in the handshake"
        }
        return OpenSSLError.take()
    }

    /// The corresponding C functions are `X509_get0_notAfter` and `ASN1_TIME_diff`.
    private static func timeLeft(_ connection: OpaquePointer) -> Duration? {
        guard let certificate = unsafe SSL_get1_peer_certificate(connection) else { return nil }
        defer { unsafe X509_free(certificate) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard unsafe ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1
        else { return nil }
        return .seconds(Int64(days) * 86_400 + Int64(seconds))
    }
}
