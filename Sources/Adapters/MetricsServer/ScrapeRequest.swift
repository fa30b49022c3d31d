/// A request for metrics, judged only from its head. Source: RFC 9112 §2 to §3.2.
package enum ScrapeRequest: Equatable, Sendable {
    /// The head is not complete yet.
    case incomplete
    case figures
    case refused(Refusal)

    /// A refusal, by its HTTP status.
    package enum Refusal: Int, Equatable, Sendable {
        case malformed = 400
        case notFound = 404
        case methodNotAllowed = 405
        /// The `Host` header is not a name of this machine: a web page redirected a browser here.
        case wrongHost = 421
        case tooLarge = 431

        var reason: String {
            switch self {
            case .malformed: "Bad Request"
            case .notFound: "Not Found"
            case .methodNotAllowed: "Method Not Allowed"
            case .wrongHost: "Misdirected Request"
            case .tooLarge: "Request Header Fields Too Large"
            }
        }
    }

    /// The longest head, in bytes, with its empty line.
    package static let limit = 8192

    /// Judges the bytes so far. Set `checksHost` for a TCP port, even on loopback. Otherwise a
    /// foreign web page could reach it through a browser, with a name that resolves to 127.0.0.1.
    package init(_ bytes: [UInt8], checksHost: Bool) {
        guard let lines = Self.head(bytes) else {
            self = bytes.count > Self.limit ? .refused(.tooLarge) : .incomplete
            return
        }
        self = Self.judge(lines, checksHost: checksHost)
    }

    /// The lines before the empty line. Nil until the empty line arrives.
    private static func head(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            guard end < limit else { return nil }
            var line = bytes[start..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if line.isEmpty { return lines }
            lines.append(line)
            start = end + 1
        }
        return nil
    }

    private static func judge(
        _ lines: [ArraySlice<UInt8>], checksHost: Bool
    ) -> ScrapeRequest {
        let isText = lines.allSatisfy { $0.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 9 } }
        guard isText, let first = lines.first else { return .refused(.malformed) }
        let words = String(decoding: first, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, ["HTTP/1.0", "HTTP/1.1"].contains(words[2]) else {
            return .refused(.malformed)
        }
        var hosts: [String] = []
        for line in lines.dropFirst() {
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":"), colon != text.startIndex,
                !text[..<colon].contains(where: { $0 == " " || $0 == "\t" })
            else { return .refused(.malformed) }
            guard text[..<colon].lowercased() == "host" else { continue }
            let value = text[text.index(after: colon)...]
            hosts.append(value.filter { $0 != " " && $0 != "\t" }.lowercased())
        }
        guard hosts.count == 1 || hosts.isEmpty && words[2] == "HTTP/1.0" else {
            return .refused(.malformed)
        }
        if checksHost, let host = hosts.first, !isLoopback(host) { return .refused(.wrongHost) }
        let path = words[1].split(separator: "?", omittingEmptySubsequences: false).first ?? ""
        guard path == "/metrics" else { return .refused(.notFound) }
        return words[0] == "GET" ? .figures : .refused(.methodNotAllowed)
    }

    /// Whether the host is `localhost`, in 127.0.0.0/8 or `[::1]`, with or without a port.
    package static func isLoopback(_ host: String) -> Bool {
        var name = host[...]
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            let port = host[host.index(after: colon)...]
            guard (1...5).contains(port.count), port.allSatisfy({ ("0"..."9").contains($0) })
            else { return false }
            name = host[..<colon]
        }
        if name == "localhost" || name == "[::1]" { return true }
        let octets = name.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { octet in
            (1...3).contains(octet.count)
                && octet.allSatisfy { ("0"..."9").contains($0) } && UInt8(octet) != nil
        }
    }
}

/// The HTTP/1.1 answers, as bytes. Each answer ends its connection.
package enum ScrapeAnswer {
    package static func figures(_ text: MetricsText) -> [UInt8] {
        whole("200 OK", MetricsText.contentType, text.text)
    }

    /// The program has no metrics at present. The sentence says why.
    package static func unavailable(_ sentence: String) -> [UInt8] {
        whole("503 Service Unavailable", "text/plain; charset=utf-8", sentence + "\n")
    }

    package static func refusal(_ refusal: ScrapeRequest.Refusal) -> [UInt8] {
        whole(
            "\(refusal.rawValue) \(refusal.reason)", "text/plain; charset=utf-8",
            refusal.reason + "\n",
            more: refusal == .methodNotAllowed ? "Allow: GET\r\n" : "")
    }

    private static func whole(
        _ status: String, _ type: String, _ body: String, more: String = ""
    ) -> [UInt8] {
        Array("""
            HTTP/1.1 \(status)\r
            Content-Type: \(type)\r
            Content-Length: \(body.utf8.count)\r
            X-Content-Type-Options: nosniff\r
            Cache-Control: no-store\r
            \(more)Connection: close\r
            \r
            \(body)
            """.utf8)
    }
}
