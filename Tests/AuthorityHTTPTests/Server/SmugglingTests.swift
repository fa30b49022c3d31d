import Foundation
import NIOHTTP1
import Sessions
import Testing
import Wire

import AuthorityHTTP

@Suite("Requests that hide others")
struct SmugglingTests {
    /// What a proxy before us could have taken for a body.
    private static let second = "GET /parse/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    private static func count(_ answer: String) -> Int {
        answer.components(separatedBy: "HTTP/1.1 ").count - 1
    }

    @Test("are 400, end the connection, and hide nothing", arguments: [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "Content-Length: 2, 3\r\n\r\n{} ",
        "Content-Length: +2\r\n\r\n{}",
        "Content-Length: 0x2\r\n\r\n{}",
        "Content-Length: 99999999999999999999\r\n\r\n{}",
        "Content-Length : 2\r\n\r\n{}",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}",
        "Transfer-Encoding:\u{0B}chunked\r\nContent-Length: 2\r\n\r\n{}",
        "X: y\rContent-Length: 2\r\n\r\n{}",
        "X: \0y\r\nContent-Length: 2\r\n\r\n{}",
        " Content-Length: 2\r\n\r\n{}",
    ])
    func head(rest: String) async throws {
        try await RunningConsole.with { console in
            let request = "POST /parse/login HTTP/1.1\r\nHost: x\r\n" + rest + Self.second
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer.prefix(40))")
            #expect(Self.count(answer) == 1)
            #expect(answer.contains("\"error\":"))
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    /// The body is broken off; who asks was refused before, so the status is theirs.
    @Test("in chunks that are none end the connection", arguments: [
        "2\n{}\r\n0\r\n\r\n", "2;a=\nb\r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n", " 2\r\n{}\r\n0\r\n\r\n",
        "10000000000000002\r\n{}\r\n0\r\n\r\n", "2\r\n{}X\r\n0\r\n\r\n",
    ])
    func chunks(body: String) async throws {
        try await RunningConsole.with { console in
            let request = "POST /parse/login HTTP/1.1\r\nHost: x\r\n"
                + "X-Parse-Application-Id: postern\r\nTransfer-Encoding: chunked\r\n\r\n"
                + body + Self.second
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer.prefix(40))")
            #expect(Self.count(answer) == 1)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("are none where a chunk has an extension: the next request is the next")
    func extensions() async throws {
        try await RunningConsole.with { console in
            let request = "POST /parse/login HTTP/1.1\r\nHost: x\r\n"
                + "X-Parse-Application-Id: postern\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2;a=b;c=\"d\"\r\n{}\r\n0;e\r\n\r\n" + Self.second
            let answer = try await console.raw(Array(request.utf8))
            #expect(Self.count(answer) == 2)
            #expect(answer.contains("\"code\":200"))
            #expect(answer.hasSuffix("{\"status\":\"ok\"}"), "\(answer.suffix(60))")
        }
    }

    @Test("are 400 where two headers name a host", arguments: [
        "Host: x\r\nHost: y\r\n", "Host: x\r\nhost: x\r\n", "HOST: x\r\nA: b\r\nHost:\r\n",
    ])
    func hosts(lines: String) async throws {
        try await RunningConsole.with { console in
            let request = "GET /parse/health HTTP/1.1\r\n\(lines)Connection: close\r\n\r\n"
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer.prefix(40))")
            #expect(answer.contains("two Host headers"))
        }
    }
}

@Suite("Paths of the page")
struct PagePathTests {
    @Test("lead to nothing outside of the console's folder", arguments: [
        "/console/..", "/console/../secret.html", "/console/%2e%2e/secret.html",
        "/console/%2e%2e%2fsecret.html", "/console/..%2fsecret.html", "/console/..%5csecret.html",
        "/console/..\\secret.html", "/console/%252e%252e%252fsecret.html",
        "/console//secret.html/../../secret.html", "/console/index.html%00",
        "/console/%00index.html", "/console/..%00/secret.html", "/console/index.html%2f..%2f..",
        "/console/.%2findex.html", "/console/..%2fconsole%2findex.html", "/console/%2fPATH",
        "/console//PATH", "/console/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/console/%c0%ae%c0%ae%c0%afsecret.html", "/console/%ff", "/../secret.html",
        "/secret.html", "/console/.hidden", "/console/notes.txt", "/console/INDEX.HTML",
    ])
    func outside(path: String) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "postern-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let inner = folder.appending(path: "console")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        for name in ["secret.html", "console/.hidden", "console/notes.txt"] {
            try Data("a secret".utf8).write(to: folder.appending(path: name))
        }
        for name in ["index.html", "claim.html"] {
            try Data("a page".utf8).write(to: inner.appending(path: name))
        }
        let files = try StaticFiles(folder: inner.path)
        let whole = folder.appending(path: "secret.html").path.dropFirst()
        try await RunningConsole.with(files: files) { console in
            let path = path.replacingOccurrences(of: "PATH", with: whole)
            let request = "GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 40"), "\(answer.prefix(40))")
            #expect(!answer.contains("a secret") && !answer.contains("a page"))
            let page = try await console.send(.GET, "/console/index.html")
            #expect(page.text == "a page")
        }
    }
}
