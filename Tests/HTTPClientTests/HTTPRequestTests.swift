import FreePorts
import Sessions
import Testing

@testable import HTTPClient

@Suite("HTTP request", .timeLimit(.minutes(5)))
struct HTTPRequestTests {
    private func failure(_ request: HTTPRequest) async -> HTTPFailure? {
        do throws(HTTPFailure) {
            _ = try await request.answer()
            return nil
        } catch {
            return error
        }
    }

    @Test("names the layer that failed")
    func layers() async throws {
        let gone = try FreePort.next()
        let refused = await failure(HTTPRequest("GET", "http://127.0.0.1:\(gone)/"))
        #expect(refused == .noConnection(111))
        #expect(refused?.layer == .tcp)
        let nowhere = await failure(HTTPRequest("GET", "http://nowhere.invalid/"))
        #expect(nowhere?.layer == .lookup)
    }

    @Test("waits no longer than its limits")
    func limits() async throws {
        let silent = try SilentListener()
        var request = HTTPRequest("GET", "http://127.0.0.1:\(silent.port)/")
        request.limit = .seconds(2)
        #expect(await failure(request) == .late(.http))
        var secret = HTTPRequest("GET", "https://127.0.0.1:\(silent.port)/")
        secret.connectLimit = .seconds(2)
        #expect(await failure(secret) == .late(.tls))
    }

    @Test("ends with its task")
    func cancelled() async throws {
        let silent = try SilentListener()
        let request = HTTPRequest("GET", "http://127.0.0.1:\(silent.port)/")
        let waiting = Task { await failure(request) }
        waiting.cancel()
        #expect(await waiting.value == .interrupted)
    }

    @Test("sends no header that would be two, and no address that is none", arguments: [
        ("X-Name", "a\r\nX-Other: b"), ("X-Name", "a\nb"), ("X\r\nY", "a"), ("X-Name", "a\0b"),
    ])
    func oneLine(name: String, value: String) async throws {
        let silent = try SilentListener()
        let url = "http://127.0.0.1:\(silent.port)/"
        let sent = await failure(HTTPRequest("GET", url, headers: [(name, value)]))
        #expect(sent == .exchange("a header has a line end"))
    }

    @Test("goes to a web server, and nowhere else", arguments: [
        "file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "127.0.0.1:x", "http://",
    ])
    func schemes(url: String) async {
        #expect(await failure(HTTPRequest("GET", url))?.layer == .http)
    }

    @Test("reads what time a server says that it is", arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("yesterday", nil), ("", nil),
    ] as [(String, Int64?)])
    func date(text: String, seconds: Int64?) {
        let answer = HTTPAnswer(status: 200, headers: [("date", text)], body: [])
        #expect(answer.date?.seconds == seconds)
    }
}
