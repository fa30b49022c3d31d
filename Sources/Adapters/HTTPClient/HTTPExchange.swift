import CCurl
import LinuxIO
import Sessions
import Synchronization

extension HTTPRequest {
    /// Sends the request and waits for the whole answer, on its own thread.
    ///
    /// The corresponding C function is `curl_easy_perform`.
    package func answer() async throws(HTTPFailure) -> HTTPAnswer {
        try await Transfer.answer(limit: answerLimit) { transfer throws(HTTPFailure) in
            try transfer.prepare(self)
        }
    }
}

extension Transfer {
    /// Runs a transfer on its own thread, and waits for it.
    static func answer(
        limit: Int, _ prepare: @escaping @Sendable (Transfer) throws(HTTPFailure) -> Void
    ) async throws(HTTPFailure) -> HTTPAnswer {
        let receiver = Receiver(limit: limit)
        let result: Result<HTTPAnswer, HTTPFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { waiting in
                do throws(SystemError) {
                    try WorkerThread(name: "http") {
                        waiting.resume(returning: exchange(receiver, prepare))
                    }.detach()
                } catch {
                    waiting.resume(returning: .failure(.exchange(error.description)))
                }
            }
        } onCancel: {
            receiver.isCancelled.store(true, ordering: .relaxed)
        }
        return try result.get()
    }

    private static func exchange(
        _ receiver: Receiver, _ prepare: (Transfer) throws(HTTPFailure) -> Void
    ) -> Result<HTTPAnswer, HTTPFailure> {
        do throws(HTTPFailure) {
            let transfer = try Transfer()
            try prepare(transfer)
            return .success(try transfer.perform(receiver))
        } catch {
            return .failure(error)
        }
    }
}

/// Receives the answer's body from libcurl's callbacks, up to `limit` bytes.
final class Receiver: Sendable {
    let limit: Int
    let body = Mutex<[UInt8]>([])
    let isTooLong = Atomic(false)
    let isCancelled = Atomic(false)

    init(limit: Int) { self.limit = limit }

    /// Appends bytes. False if the body is too long: libcurl ends the transfer then.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        body.withLock { body in
            guard body.count + bytes.count <= limit else {
                isTooLong.store(true, ordering: .relaxed)
                return false
            }
            unsafe body.append(contentsOf: bytes)
            return true
        }
    }
}

/// One libcurl transfer. One thread makes it, uses it once and frees it. The corresponding C types
/// are `CURL` and `curl_slist`.
@safe
final class Transfer {
    let curl: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// The receivers of a mail, and its text. libcurl keeps no copy of them.
    var receivers: UnsafeMutablePointer<curl_slist>?
    var upload: MailUpload?

    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init() throws(HTTPFailure) {
        guard Self.isReady, let curl = unsafe curl_easy_init() else {
            throw .exchange("libcurl could not start")
        }
        unsafe self.curl = curl
        unsafe headers = nil
        unsafe receivers = nil
    }

    deinit {
        unsafe curl_slist_free_all(headers)
        unsafe curl_slist_free_all(receivers)
        unsafe curl_easy_cleanup(curl)
    }

    // MARK: - Request

    func prepare(_ request: HTTPRequest) throws(HTTPFailure) {
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        try set(CURLOPT_PATH_AS_IS, 1)
        try setLimits(connect: request.connectLimit, all: request.limit)
        try set(request.method, request.body)
        try set(request.headers)
        try set(request.trust)
    }

    /// The options that every transfer has.
    func setLimits(connect: Duration, all: Duration) throws(HTTPFailure) {
        // An empty name disables proxies, even if the environment sets one.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_CONNECTTIMEOUT_MS, connect.milliseconds)
        try set(CURLOPT_TIMEOUT_MS, all.milliseconds)
    }

    private func set(_ method: String, _ body: [UInt8]?) throws(HTTPFailure) {
        if method == "HEAD" {
            try set(CURLOPT_NOBODY, 1)
        } else if method != "GET" || body != nil {
            let body = body ?? []
            try check(unsafe body.withUnsafeBytes { bytes in
                unsafe curl_set_body(curl, bytes.baseAddress, bytes.count)
            }, CURLOPT_COPYPOSTFIELDS)
            try set(CURLOPT_CUSTOMREQUEST, method)
        }
    }

    private func set(_ lines: [(name: String, value: String)]) throws(HTTPFailure) {
        // Removes headers that libcurl adds by itself: `Expect` and a default `Content-Type`.
        var texts = ["Expect:"]
        if !lines.contains(where: { $0.name.lowercased() == "content-type" }) {
            texts.append("Content-Type:")
        }
        for (name, value) in lines {
            // libcurl sends an empty header for "name;", but none for "name:".
            texts.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        for text in texts {
            guard !text.utf8.contains(where: { $0 == 13 || $0 == 10 || $0 == 0 }),
                let longer = unsafe curl_slist_append(headers, text)
            else { throw .exchange("a header has a line end") }
            unsafe headers = longer
        }
        try check(unsafe curl_set_headers(curl, headers), CURLOPT_HTTPHEADER)
    }

    func set(_ trust: HTTPTrust) throws(HTTPFailure) {
        try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        switch trust.roots {
        case .system: break
        case .certificates(let pem):
            try unsafe pem.span.withUnsafeBytes { bytes throws(HTTPFailure) in
                try unsafe set(CURLOPT_CAINFO_BLOB, bytes)
            }
            // Otherwise libcurl would also trust the system's folder of certificates.
            try check(unsafe curl_set_text(curl, CURLOPT_CAPATH, nil), CURLOPT_CAPATH)
        case .unchecked:
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        guard let (chain, key) = trust.identity else { return }
        try unsafe chain.span.withUnsafeBytes { bytes throws(HTTPFailure) in
            try unsafe set(CURLOPT_SSLCERT_BLOB, bytes)
        }
        try unsafe key.withBytes { bytes throws(HTTPFailure) in
            try unsafe set(CURLOPT_SSLKEY_BLOB, bytes)
        }
    }

    // MARK: - Answer

    func perform(_ receiver: Receiver) throws(HTTPFailure) -> HTTPAnswer {
        var words = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
        let result = unsafe words.withUnsafeMutableBufferPointer { words in
            // Without a receiver libcurl writes the answer to standard output.
            let isSet = unsafe curl_set_error_text(curl, words.baseAddress) && curl_set_receiver(
                curl, { bytes, size, count, receiver in
                    guard let receiver = unsafe receiver else { return 0 }
                    let all = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                    let taker = unsafe Unmanaged<Receiver>.fromOpaque(receiver)
                    return unsafe taker.takeUnretainedValue().take(all) ? all.count : 0
                }, { receiver, _, _, _, _ in
                    guard let receiver = unsafe receiver else { return 1 }
                    let taker = unsafe Unmanaged<Receiver>.fromOpaque(receiver)
                    return unsafe taker.takeUnretainedValue().isCancelled
                        .load(ordering: .relaxed) ? 1 : 0
                }, Unmanaged.passUnretained(receiver).toOpaque())
            guard isSet else { return CURLE_FAILED_INIT }
            return withExtendedLifetime(receiver) { unsafe curl_easy_perform(curl) }
        }
        guard result == CURLE_OK else {
            let text = String(
                decoding: words.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw failure(result, text, receiver)
        }
        return HTTPAnswer(
            status: unsafe curl_get_number(curl, CURLINFO_RESPONSE_CODE), headers: answered,
            body: receiver.body.withLock { $0 })
    }

    /// The corresponding C function is `curl_easy_nextheader`.
    private var answered: [(name: String, value: String)] {
        var all: [(name: String, value: String)] = []
        var last: UnsafeMutablePointer<curl_header>?
        while let next = unsafe curl_easy_nextheader(curl, UInt32(CURLH_HEADER), -1, last) {
            unsafe all.append(
                (String(cString: next.pointee.name), String(cString: next.pointee.value)))
            unsafe last = next
        }
        return all
    }

    private func failure(_ code: CURLcode, _ text: String, _ receiver: Receiver) -> HTTPFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .noAddress
        case CURLE_COULDNT_CONNECT:
            let code = unsafe curl_get_number(curl, CURLINFO_OS_ERRNO)
            return .noConnection(code == 0 ? nil : Int32(truncatingIfNeeded: code))
        case CURLE_OPERATION_TIMEDOUT: return .late(layer(text))
        case CURLE_PEER_FAILED_VERIFICATION: return .notTrusted(text)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            return tls(text)
        case CURLE_GOT_NOTHING: return .closed
        case CURLE_PARTIAL_FILE: return .closed
        case CURLE_ABORTED_BY_CALLBACK: return .interrupted
        case CURLE_WRITE_ERROR where receiver.isTooLong.load(ordering: .relaxed): return .tooLong
        // In TLS 1.3 a server refuses a client certificate only after the handshake.
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            return text.contains("SSL_") && text.contains("alert") ? tls(text) : .closed
        default:
            return .exchange(
                text.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : text)
        }
    }

    private func tls(_ text: String) -> HTTPFailure {
        let signs = ["certificate required", "handshake failure", "bad certificate"]
        return signs.contains { text.contains($0) } ? .tlsRefused(text) : .tls(text)
    }

    /// The first step that has not ended. libcurl records the end of TCP only after the end of TLS.
    private func layer(_ text: String) -> HTTPFailure.Layer {
        if unsafe curl_get_time(curl, CURLINFO_NAMELOOKUP_TIME_T) == 0 { return .lookup }
        if text.contains("SSL") { return .tls }
        return unsafe curl_get_time(curl, CURLINFO_CONNECT_TIME_T) == 0 ? .tcp : .http
    }

    // MARK: - Options

    func set(_ option: CURLoption, _ number: Int) throws(HTTPFailure) {
        try check(unsafe curl_set_number(curl, option, number), option)
    }

    func set(_ option: CURLoption, _ text: String) throws(HTTPFailure) {
        guard !text.utf8.contains(0) else { throw .exchange("a text has a zero byte") }
        try check(unsafe curl_set_text(curl, option, text), option)
    }

    private func set(_ option: CURLoption, _ bytes: UnsafeRawBufferPointer) throws(HTTPFailure) {
        try check(unsafe curl_set_blob(curl, option, bytes.baseAddress, bytes.count), option)
    }

    func check(_ isSet: Bool, _ option: CURLoption) throws(HTTPFailure) {
        guard isSet else { throw .exchange("libcurl does not accept option \(option.rawValue)") }
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
