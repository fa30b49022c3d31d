@testable import AdminCommands
import Foundation
import Sessions
import Synchronization
import Testing

@Suite("Usage")
struct UsageTests {
    /// What a command line comes to without any network.
    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async -> (status: Int32, out: String, notes: String) {
        let out = Lines()
        let notes = Lines()
        let status = await PosternProgram.run(arguments, in: CommandEnvironment(
            environment: environment, now: { Timestamp(milliseconds: 0) },
            zone: TimeZone(secondsFromGMT: 0) ?? .current, width: nil,
            out: { out.add($0) }, note: { notes.add($0) }, input: { _ in [] },
            secret: { _ in nil }))
        return (status.rawValue, out.text, notes.text)
    }

    private final class Lines: Sendable {
        private let lines = Mutex([String]())
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var text: String { lines.withLock { $0.joined(separator: "\n") } }
    }

    @Test("that is wrong ends with 2, on standard error alone", arguments: [
        [], ["fly"], ["login"], ["boards", "--nope"], ["claim"], ["sessions", "revoke"],
        ["sessions", "revoke", "sEsS000002", "--all-of", "bob"],
        ["sessions", "extend", "sEsS000002"], ["sessions", "extend", "sEsS000002", "4m"],
        ["sessions", "extend", "sEsS000002", "366d"], ["boards", "renew", "x", "--label", "y"],
        ["users", "password"], ["users", "disable"], ["users", "enable", "a", "b"],
        ["users", "show"], ["users", "allow", "bob"], ["users", "allow", "bob", "fly"],
        ["users", "deny", "claim"], ["boards", "rename", "shed"], ["sessions", "rename", "shed"],
        ["passwd", "secret"], ["passwd", "--password-file", "-", "--old-password-file", "-"],
        ["claim", "postern://claim", "--session-file"],
        ["boards", "release"], ["boards", "end-claim", "x"], ["boards", "forget-revocation"],
        ["audit", "--limit", "0"], ["watch", "--count", "0"], ["watch", "--for", "soon"],
        ["claim", "postern://claim"], ["claim", "-"],
        ["claim", "x#v=1&i=1", "--duration", "1"], ["login", "--username", "a"],
        ["claims", "accept"], ["claims", "accept", "a", "--all"], ["claims", "end"],
        ["claims", "accept", "--all", "--label", "barn"], ["claims", "accept", "--label", "!"],
        ["claims", "prepare"], ["claims", "prepare", "--out", "x", "--count", "0"],
        ["claims", "prepare", "--out", "x", "--count", "101"],
        ["claims", "prepare", "--out", "x", "--count", "2", "--name", "barn"],
        ["claims", "prepare", "--out", "x", "--name", "{n}-{n}"],
        ["claims", "prepare", "--out", "x", "--name", "../barn-{n}"],
        ["claims", "prepare", "--out", "x", "--expires", "59m"],
        ["claims", "prepare", "--out", "x", "--expires", "366d"],
        ["simulate"], ["simulate", "--boards", "0"], ["simulate", "--boards", "9", "--mix", "x"],
        ["simulate", "--boards", "9", "--in-flight", "10"],
        ["simulate", "--boards", "9", "--faults", "fire=1"],
        ["simulate", "--boards", "9", "--faults", "thieves=10"],
        ["simulate", "--boards", "9", "--telemetry", "5"],
        ["--authority", "nonsense", "login", "--username", "a"],
        ["--authority", "http://a.example", "login", "--username", "a"],
        ["login", "nonsense"], ["login", "http://a.example"], ["login", "--password-file", "-"],
        ["login", "https://a.example", "--browser", "--username", "a"],
        ["login", "https://a.example", "--authority", "https://a.example"],
    ])
    func wrong(arguments: [String]) async {
        let result = await run(arguments, environment: ["HOME": "/nonexistent"])
        #expect(result.status == 2)
        #expect(result.out.isEmpty)
        #expect(!result.notes.isEmpty)
    }

    @Test("is explained on standard output when asked for", arguments: [
        ["--help"], ["help", "claim"], ["sessions", "revoke", "--help"], ["passwd", "--help"],
        ["users", "password", "--help"], ["claims", "prepare", "--help"], ["--version"],
    ])
    func help(arguments: [String]) async {
        let result = await run(arguments)
        #expect(result.status == 0)
        #expect(!result.out.isEmpty)
        #expect(result.notes.isEmpty)
    }

    @Test("says why the claim may come from standard input")
    func claimHelp() async {
        #expect(await run(["claim", "--help"]).out.contains("other users"))
    }

    @Test("never repeats a claim's secret when the claim is wrong")
    func secretInClaim() async {
        let result = await run(["claim", "x#v=1&i=bad&k=bad&c=TOPSECRET&n=x"])
        #expect(result.status == 2)
        #expect(!(result.out + result.notes).contains("TOPSECRET"))
    }

    @Test("looks for the login where it was told to, by option or environment")
    func folders() async {
        #expect(await run(["whoami"]).status == 78)
        #expect(await run(["whoami"], environment: ["HOME": "/nonexistent"]).status == 4)
        #expect(await run(["whoami", "--profile-dir", "/nonexistent"]).status == 4)
        let offline = await run(
            ["login", "--username", "a", "--password-file", "/nonexistent"],
            environment: ["POSTERN_AUTHORITY": "http://127.0.0.1:9", "HOME": "/nonexistent"])
        #expect(offline.status == 78)
    }
}

@Suite("A fleet's progress")
struct FleetProgressTests {
    @Test("is drawn as a bar that is never too long", arguments: [
        (-1.0, 0), (0.0, 0), (0.5, 12), (1.0, 24), (7.0, 24),
    ])
    func bar(share: Double, full: Int) {
        let bar = FleetProgress.bar(share)
        #expect(bar.count == 26)
        #expect(bar.count { $0 == "█" } == full)
    }
}
