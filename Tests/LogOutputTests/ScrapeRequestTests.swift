import Testing

import MetricsServer

@Suite("Scrape request")
struct ScrapeRequestTests {
    private func judged(_ text: String, checksHost: Bool = true) -> ScrapeRequest {
        ScrapeRequest(Array(text.utf8), checksHost: checksHost)
    }

    @Test("gives figures to this machine's names alone", arguments: [
        ("localhost", true), ("localhost:9100", true), ("LOCALHOST", true), ("127.0.0.1:1", true),
        ("127.9.9.9", true), ("[::1]", true), ("[::1]:9100", true),
        ("evil.example", false), ("evil.example:9100", false), ("127.0.0.1.evil.example", false),
        ("localhost.evil.example", false), ("128.0.0.1", false), ("127.0.0", false),
        ("127.0.0.256", false), ("127.0.0.1:x", false), ("127.0.0.1:", false), ("", false),
        ("[::2]", false), ("::1", false), ("user@127.0.0.1", false),
    ])
    func hosts(host: String, isOurs: Bool) {
        let text = "GET /metrics HTTP/1.1\r\nHost: \(host)\r\n\r\n"
        #expect(judged(text) == (isOurs ? .figures : .refused(.wrongHost)))
        #expect(judged(text, checksHost: false) == .figures)
    }

    @Test("is refused for what it is", arguments: [
        ("GET /metrics HTTP/1.1\nHost: localhost\n\n", ScrapeRequest.figures),
        ("GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", .figures),
        ("GET /metrics HTTP/1.0\r\n\r\n", .figures),
        ("GET /metrics HTTP/1.1\r\n\r\n", .refused(.malformed)),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: a\r\n\r\n", .refused(.malformed)),
        ("GET /metrics HTTP/1.1\r\nHost : localhost\r\n\r\n", .refused(.malformed)),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX\r\n\r\n", .refused(.malformed)),
        ("GET /metrics HTTP/2\r\nHost: localhost\r\n\r\n", .refused(.malformed)),
        ("GET  /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", .refused(.malformed)),
        ("\r\n", .refused(.malformed)),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", .refused(.notFound)),
        ("GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n\r\n", .refused(.notFound)),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", .refused(.methodNotAllowed)),
        ("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", .refused(.methodNotAllowed)),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n", .incomplete),
        ("GET /metrics HT", .incomplete),
        ("", .incomplete),
    ])
    func forms(text: String, expected: ScrapeRequest) {
        #expect(judged(text) == expected)
    }

    @Test("has 8 KiB and no more")
    func size() {
        let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "
        let room = ScrapeRequest.limit - head.utf8.count - 4
        let fitting = head + String(repeating: "x", count: room) + "\r\n\r\n"
        #expect(judged(fitting) == .figures)
        let more = head + String(repeating: "x", count: room + 1) + "\r\n\r\n"
        #expect(judged(more) == .refused(.tooLarge))
        #expect(judged(String(repeating: "x", count: ScrapeRequest.limit)) == .incomplete)
        #expect(judged(String(repeating: "x", count: ScrapeRequest.limit + 1))
            == .refused(.tooLarge))
    }
}

@Suite("Figure text")
struct FigureTextTests {
    @Test("is Prometheus' form, with what would break it escaped")
    func form() {
        var text = MetricsText()
        text.counter("a_total", "Counts \\ and\nmore.", 3)
        text.gauge("b", "\"Quoted\".", 0.25)
        text.gauge("c", "Not known.", Double?.none)
        text.gauge("d", "So.", true)
        text.family("e", .gauge, "Labels.", [
            .init([("app", "x\"y\\z\n"), ("rule", "r")], 1), .init([("app", "*")], 1e300),
        ])
        #expect(text.text == """
            # HELP a_total Counts \\\\ and\\nmore.
            # TYPE a_total counter
            a_total 3
            # HELP b "Quoted".
            # TYPE b gauge
            b 0.25
            # HELP c Not known.
            # TYPE c gauge
            # HELP d So.
            # TYPE d gauge
            d 1
            # HELP e Labels.
            # TYPE e gauge
            e{app="x\\"y\\\\z\\n",rule="r"} 1
            e{app="*"} 1e+300

            """)
    }
}
