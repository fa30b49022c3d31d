import AdminCommands
import AuthorityCore
import Foundation
import Sessions
import Synchronization
import Testing

/// Someone who types `postern` commands at the running console, and what they see.
struct Person: Sendable {
    let console: RunningConsole
    let folder: String
    let screen = Screen()

    /// How long the commands waited. The test does not.
    var pauses: [Duration] { screen.pauses.withLock { $0 } }

    final class Screen: Sendable {
        private let lines = Mutex([String]())
        fileprivate let pauses = Mutex([Duration]())

        func add(_ line: String) { lines.withLock { $0.append(line) } }
        func take() -> [String] { lines.withLock { lines in defer { lines = [] }; return lines } }
        func contains(_ text: String) -> Bool {
            lines.withLock { $0.contains { $0.contains(text) } }
        }
    }

    static func with(
        data: (any DataStore)? = nil, _ body: @Sendable (Person) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("postern-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await RunningConsole.with(data: data) { console in
            try await body(Person(console: console, folder: folder))
        }
    }

    /// One that has logged in already.
    static func loggedIn(
        data: (any DataStore)? = nil, _ body: @Sendable (Person) async throws -> Void
    ) async throws {
        try await with(data: data) { person in
            #expect(await person.types("login --username alice --password-file -", input: "correct")
                == "! ✓ logged in at \(person.url) as alice\n[0]")
            try await body(person)
        }
    }

    var url: String { "http://127.0.0.1:\(console.port)" }

    /// Runs one command line; lines for people begin with `!`, the status ends it in brackets.
    func types(
        _ line: String, input: String = "", secrets: [String] = [],
        environment: [String: String] = [:], width: Int? = nil
    ) async -> String {
        let status = await PosternProgram.run(
            ["--authority", url, "--profile-dir", folder]
                + line.split(separator: " ").map(String.init),
            in: surroundings(
                input: input, secrets: secrets, environment: environment, width: width))
        return (screen.take() + ["[\(status.rawValue)]"]).joined(separator: "\n")
    }

    /// What is typed when a secret is asked for stands in `secrets`, in its order.
    func surroundings(
        input: String = "", secrets: [String] = [], environment: [String: String] = [:],
        width: Int? = nil
    ) -> CommandEnvironment {
        let typed = Typed(secrets)
        var surroundings = CommandEnvironment(
            environment: environment,
            now: { Timestamp(milliseconds: Int64(StubFrontend.start + 120) * 1000) },
            zone: TimeZone(secondsFromGMT: 0) ?? .current, width: width,
            out: { [screen] in screen.add($0) }, note: { [screen] in screen.add("! " + $0) },
            input: { limit in input.utf8.count <= limit ? Array(input.utf8) : nil },
            secret: { [screen] prompt in
                let next = typed.next()
                if next != nil { screen.add("? " + prompt) }
                return next
            })
        surroundings.pause = { [screen] span in screen.pauses.withLock { $0.append(span) } }
        return surroundings
    }

    private final class Typed: Sendable {
        private let lines: Mutex<[String]>

        init(_ lines: [String]) { self.lines = Mutex(lines) }

        func next() -> [UInt8]? {
            lines.withLock { $0.isEmpty ? nil : Array($0.removeFirst().utf8) }
        }
    }

    /// A file in the person's folder, with this mode.
    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let path = "\(folder)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }
}
