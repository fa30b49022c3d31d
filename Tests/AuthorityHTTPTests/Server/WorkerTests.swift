import Foundation
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

/// `Tests/Browser/test_away.py` has a browser run it.
@Suite("The page's service worker")
struct WorkerTests {
    private static let names = [
        "index.html", "claim.html", "app.js", "worker.js", "icon.png", "deep/more.js",
    ]

    @Test("names what the browser keeps in its first line, with the digest of each file")
    func firstLine() async throws {
        try await Self.serving { console in
            let answer = try await console.send(.GET, "/worker.js", application: nil, token: nil)
            #expect(answer.status == 200)
            #expect(answer.headers["Cache-Control"] == ["no-cache"])
            #expect(answer.headers["Content-Type"] == ["text/javascript; charset=utf-8"])
            let policy = answer.headers["Content-Security-Policy"].first ?? ""
            #expect(policy.contains("worker-src 'self'") && policy.contains("connect-src 'self'"))
            let lines = answer.text.split(separator: "\n")
            let line = try #require(lines.first)
            #expect(lines.dropFirst() == ["a page"])
            #expect(line.hasPrefix("const page = ") && line.hasSuffix(";"))
            let page = try JSONObject(
                parsing: Array(line.dropFirst("const page = ".count).dropLast().utf8))
            // The SHA-256 of "a page".
            let digest = "sha256-mo7v8dC8a5t6zxcLEWjW0H8ZPcdw1MGGSwPkjXdejRo="
            #expect(page.members["files"] == .array(["console/app.js", ""].map {
                .array([.string($0), .string(digest)])
            }))
        }
    }

    @Test("has another version as soon as one file differs")
    func version() async throws {
        let first = try await Self.version([:])
        #expect(try await Self.version([:]) == first)
        #expect(try await Self.version(["app.js": "a new page"]) != first)
        #expect(try await Self.version(["claim.html": "a new page"]) == first)
    }

    private static func version(_ changed: [String: String]) async throws -> JSONValue? {
        let (found, continuation) = AsyncStream.makeStream(of: JSONValue?.self)
        try await serving(changed) { console in
            let text = try await console.send(.GET, "/worker.js").text
            let line = text.prefix { $0 != "\n" }.dropFirst("const page = ".count).dropLast()
            continuation.yield(try JSONObject(parsing: Array(line.utf8)).members["version"])
        }
        return await found.first { _ in true } ?? nil
    }

    private static func serving(
        _ changed: [String: String] = [:],
        _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "postern-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(
            at: folder.appending(path: "deep"), withIntermediateDirectories: true)
        for name in names {
            try Data((changed[name] ?? "a page").utf8).write(to: folder.appending(path: name))
        }
        try await RunningConsole.with(files: try StaticFiles(folder: folder.path), body)
    }
}
