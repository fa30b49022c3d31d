import Foundation
import LinuxIO
import Testing

@testable import AgentCommands
@testable import AgentService

@Suite("Policy commands")
struct PolicyCommandTests {
    private static let samples = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appending(path: "../../../Provisioning/policies")
        .standardized.path

    /// A folder without `agent.toml`: nothing here needs a board.
    private func run(_ words: [String], in folder: TemporaryFolder) -> AgentService.ExitStatus {
        AgentProgram.run(["policy"] + words + ["--config-dir", folder.path])
    }

    @Test("find nothing wrong in the sample policies", arguments: ["open", "sensors", "silent"])
    func samples(name: String) throws {
        let words = ["check", "--policy", "\(Self.samples)/\(name).toml"]
        #expect(run(words, in: try TemporaryFolder()) == .ok)
    }

    @Test("agree with the sample cases")
    func sampleCases() throws {
        let words = ["--policy", "\(Self.samples)/sensors.toml"]
        let cases = "\(Self.samples)/sensors.cases.toml"
        let folder = try TemporaryFolder()
        #expect(run(["test", cases] + words, in: folder) == .ok)
        #expect(run(["test", cases, "--json"] + words, in: folder) == .ok)
        // Without the policy most of them pass that should not.
        #expect(run(["test", cases], in: folder) == .failed)
    }

    @Test("check ends with 3 on a finding and 78 on a malformed file", arguments: [
        ("[[rule]]\nclass = \"A\"\nallow = []\n", .ok), ("", .badConfiguration),
        ("[app.x]\nmax_bytes = 1\n", .badConfiguration),
        ("[[rule]]\nclass = \"*\"\nallow = []\n[[rule]]\nclass = \"A\"\nallow = []\n", .degraded),
        ("[[rule]]\nclass = \"Session\"\nallow = []\n", .degraded),
        ("[[rule]]\nclass = \"A\"\n", .badConfiguration), ("x = [\n", .badConfiguration),
    ] as [(String, AgentService.ExitStatus)])
    func check(policy: String, expected: AgentService.ExitStatus) throws {
        let folder = try TemporaryFolder()
        try folder.write("policy.toml", policy)
        try folder.write("draft.toml", policy, mode: 0o666)
        #expect(run(["check"], in: folder) == expected)
        #expect(run(["check", "--json", "--policy", folder.path + "/draft.toml"], in: folder)
            == expected)
    }

    @Test("check judges by a scope that is given, and refuses one that is malformed", arguments: [
        ("{\"default\":\"deny\"}", .degraded), ("{\"default\":\"allow\"}", .ok), ("{}", .ok),
        ("{\"default\":\"maybe\"}", .badConfiguration), ("[]", .badConfiguration),
        ("{", .badConfiguration),
    ] as [(String, AgentService.ExitStatus)])
    func scope(text: String, expected: AgentService.ExitStatus) throws {
        let folder = try TemporaryFolder()
        try folder.write("policy.toml", "[[rule]]\nclass = \"A\"\nallow = [\"create\"]\n")
        try folder.write("scope.json", text)
        #expect(run(["check", "--scope", folder.path + "/scope.json"], in: folder) == expected)
    }

    @Test("explain takes a topic in place of app, operation and class", arguments: [
        (["--topic", "postern/app/a/create/A"], .ok), (["a", "create", "A"], .ok),
        (["--topic", "postern/app/a/create/A", "a"], .usage), (["a", "create"], .usage),
        ([], .usage),
        (["--topic", "postern/app/a/create/a+b"], .ok),
        (["--topic", "postern/app/a/get/session"], .usage), (["--topic", "other"], .usage),
    ] as [([String], AgentService.ExitStatus)])
    func explain(words: [String], expected: AgentService.ExitStatus) throws {
        let folder = try TemporaryFolder()
        try folder.write("draft.toml", "default = \"deny\"\n")
        let draft = ["--policy", folder.path + "/draft.toml"]
        #expect(run(["explain"] + words + draft, in: folder) == expected)
    }

    @Test("what an app sent moves no cursor")
    func plainText() {
        let shown = PlainText.line("a\u{1B}[2J\r\u{202E}é\u{85}x")
        #expect(shown == "a\u{FFFD}[2J\u{FFFD}\u{FFFD}é\u{FFFD}x")
    }

    @Test("a payload larger than any may be is judged, not an error")
    func largePayload() throws {
        let folder = try TemporaryFolder()
        try folder.write("large", String(repeating: "x", count: 300_000))
        try folder.write("draft.toml", "default = \"allow\"\n")
        let draft = ["--policy", folder.path + "/draft.toml"]
        let words = ["explain", "a", "create", "A", "--payload", folder.path + "/large"]
        #expect(run(words + draft, in: folder) == .ok)
        try folder.write("cases.toml", """
            [[case]]
            app = "a"
            op = "create"
            class = "A"
            payload_file = "large"
            expect = "deny"
            code = 116
            rule = "builtin:payload-size"
            """)
        #expect(run(["test", folder.path + "/cases.toml"] + draft, in: folder) == .ok)
    }

    @Test("test ends with 1 on a difference, 2 without a case, 78 on a malformed file", arguments: [
        ("[[case]]\napp = \"a\"\nop = \"create\"\nclass = \"A\"\nexpect = \"allow\"", .ok),
        ("[[case]]\napp = \"a\"\nop = \"create\"\nclass = \"A\"\nexpect = \"deny\"", .failed),
        ("[[case]]\ntopic = \"nobody/reads\"\nexpect = \"deny\"", .failed),
        ("# None yet.", .usage), ("[[case]]\n", .badConfiguration), ("[", .badConfiguration),
        ("[[case]]\ntopic = \"x\"\npayload_file = \"none\"\nexpect = \"deny\"", .badConfiguration),
    ] as [(String, AgentService.ExitStatus)])
    func test(cases: String, expected: AgentService.ExitStatus) throws {
        let folder = try TemporaryFolder()
        try folder.write("cases.toml", cases)
        #expect(run(["test", folder.path + "/cases.toml"], in: folder) == expected)
    }

    private static let line = #"{"tst":"2026-11-21T17:05:15.733904Z+0000","#
        + #""topic":"postern/app/a/create/A","payload":"x"}"#

    @Test("simulate ends with 0 whatever is refused, and 1 where nothing can be read", arguments: [
        (line, .ok), ("nonsense\n" + line + "\n\n" + line, .ok),
        ("", .failed), ("\n\n", .failed), ("{}\n", .failed),
    ] as [(String, AgentService.ExitStatus)])
    func simulate(log: String, expected: AgentService.ExitStatus) throws {
        let folder = try TemporaryFolder()
        try folder.write("policy.toml", "default = \"deny\"\n")
        try folder.write("log", log)
        #expect(run(["simulate", folder.path + "/log"], in: folder) == expected)
        #expect(run(["simulate", folder.path + "/log", "--json"], in: folder) == expected)
    }

    @Test("end with 2 where a file that the caller names is not there, or is a folder", arguments: [
        ["test", "FILE"], ["simulate", "FILE"], ["check", "--policy", "FILE"],
        ["check", "--scope", "FILE"],
        ["explain", "a", "create", "A", "--policy", "DRAFT", "--payload", "FILE"],
    ])
    func missingFile(words: [String]) throws {
        let folder = try TemporaryFolder()
        try folder.write("draft.toml", "default = \"allow\"\n")
        for file in [folder.path + "/nowhere", folder.path] {
            let named = ["FILE": file, "DRAFT": folder.path + "/draft.toml"]
            #expect(run(words.map { named[$0] ?? $0 }, in: folder) == .usage)
        }
    }

    @Test("end with 78 where the rules' folder is not there, unless a draft is judged")
    func missingFolder() throws {
        let folder = try TemporaryFolder()
        let place = ["--config-dir", folder.path + "/nowhere"]
        #expect(AgentProgram.run(["policy", "check"] + place) == .badConfiguration)
        #expect(run(["check"], in: folder) == .ok)
        try folder.write("draft.toml", "default = \"allow\"\n")
        let draft = ["policy", "check", "--policy", folder.path + "/draft.toml"]
        #expect(AgentProgram.run(draft + place) == .ok)
    }

    private static let board = """
        name = "b"
        [uplink]
        uri = "mqtts://broker.example:8883"
        [claim]
        base = "https://authority.example/claim"
        [[route]]
        from = "meters/+"
        app = "meter"
        class = "Energy"
        op = "create"
        to = "home/{1}/energy"
        """

    @Test("judge a route's topic by a scope, and by none where none is given", arguments: [
        (nil, .ok, .ok), ("{\"topics\":[]}", .degraded, .failed),
        ("{\"topics\":[\"home/+/energy\"]}", .ok, .ok),
        ("{\"topics\":[\"home/+/power\"]}", .degraded, .failed),
    ] as [(String?, AgentService.ExitStatus, AgentService.ExitStatus)])
    func grantedTopics(
        scope: String?, checked: AgentService.ExitStatus, tested: AgentService.ExitStatus
    ) throws {
        let folder = try TemporaryFolder()
        try folder.write("agent.toml", Self.board)
        try folder.write("policy.toml", "default = \"allow\"\n")
        try folder.write("scope.json", scope ?? "")
        try folder.write("cases.toml", "[[case]]\ntopic = \"meters/a\"\nexpect = \"allow\"\n")
        let words = scope == nil ? [] : ["--scope", folder.path + "/scope.json"]
        #expect(run(["check"] + words, in: folder) == checked)
        #expect(run(["test", folder.path + "/cases.toml"] + words, in: folder) == tested)
    }
}
