import CCurl
package import Sessions

/// One mail to an SMTP server, sent with libcurl. The server gets the login only over TLS, unless
/// `demandsTLS` is false.
package struct Mail: Sendable {
    /// `smtps://host:port`, or `smtp://host:port`.
    package var server: String
    /// Whether `smtp://` must change to TLS before anything else is sent. Source: RFC 3207.
    package var demandsTLS: Bool
    package var login: (username: String, password: SecretBytes)?
    /// Plain addresses.
    package var from: String
    package var to: [String]
    /// Headers and body, with CRLF at the end of each line.
    package var text: [UInt8]
    package var trust = HTTPTrust()
    /// The time limit for name lookup, connection and TLS together.
    package var connectLimit = Duration.seconds(10)
    /// The time limit for the whole exchange.
    package var limit = Duration.seconds(30)

    package init(
        server: String, demandsTLS: Bool, login: (username: String, password: SecretBytes)? = nil,
        from: String, to: [String], text: [UInt8]
    ) {
        self.server = server
        self.demandsTLS = demandsTLS
        self.login = login
        self.from = from
        self.to = to
        self.text = text
    }

    /// Sends the mail and waits until the server has accepted it for every receiver.
    package func send() async throws(HTTPFailure) {
        _ = try await Transfer.answer(limit: 64 * 1024) { transfer throws(HTTPFailure) in
            try transfer.prepare(self)
        }
    }
}

/// Gives a mail's text to libcurl's callback, piece by piece.
final class MailUpload {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Copies the next bytes, and returns how many; 0 at the end.
    func give(to room: UnsafeMutableRawBufferPointer) -> Int {
        let piece = rest.prefix(room.count)
        rest = rest.dropFirst(piece.count)
        unsafe room.copyBytes(from: piece)
        return piece.count
    }
}

extension Transfer {
    func prepare(_ mail: Mail) throws(HTTPFailure) {
        try set(CURLOPT_URL, mail.server)
        try set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        try setLimits(connect: mail.connectLimit, all: mail.limit)
        if mail.demandsTLS { try set(CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue)) }
        try set(mail.trust)
        if let (username, password) = mail.login {
            try set(CURLOPT_USERNAME, username)
            try set(CURLOPT_PASSWORD, String(decoding: password.reveal(), as: UTF8.self))
        }
        try set(CURLOPT_MAIL_FROM, try address(mail.from))
        for receiver in mail.to {
            guard let longer = unsafe curl_slist_append(receivers, try address(receiver)) else {
                throw .exchange("libcurl has no memory")
            }
            unsafe receivers = longer
        }
        try check(unsafe curl_set_receivers(curl, receivers), CURLOPT_MAIL_RCPT)
        let upload = MailUpload(mail.text)
        self.upload = upload
        let isSet = unsafe curl_set_upload(curl, { room, size, count, upload in
            guard let upload = unsafe upload, let room = unsafe room else { return 0 }
            let all = unsafe UnsafeMutableRawBufferPointer(start: room, count: size * count)
            let giver = unsafe Unmanaged<MailUpload>.fromOpaque(upload)
            return unsafe giver.takeUnretainedValue().give(to: all)
        }, Unmanaged.passUnretained(upload).toOpaque())
        try check(isSet, CURLOPT_UPLOAD)
    }

    /// In angle brackets, so that libcurl adds nothing.
    private func address(_ text: String) throws(HTTPFailure) -> String {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .exchange("an address has a character that is not allowed")
        }
        return "<\(text)>"
    }
}
