import AgentCore
import ConfigurationFiles
import Foundation
import Gate
import LinuxIO
import Logging
import Sessions
import Testing
import Wire

@testable import AgentService

@Suite("Files of rules")
struct RuleFilesTests {
    private static let agent = "[uplink]\nuri = \"mqtts://b.example\"\n"
    private static let route = """
        [[route]]
        from = "z/+"
        app = "z"
        class = "Reading"
        op = "create"

        """
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("agent.toml", Self.agent)
        try folder.write("policy.toml", "default = \"deny\"\n")
    }

    private func files() throws -> ReadFiles {
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return ReadFiles(RuleFiles(try BoardFiles(folder: folder.path), log: log))
    }

    private func text(_ value: JSONValue?) -> String {
        guard case .string(let text) = value else { return "" }
        return text
    }

    @Test("are refused where one is empty, as a full disk or a power cut leaves it", arguments: [
        "", "\n", " \t\r\n\n",
    ])
    func empty(content: String) throws {
        let rules = try files()
        try folder.write("policy.toml", content)
        #expect(rules.reload(.signal) == nil)
        #expect(rules.report["default"] == .string("deny"))
        #expect(text(rules.report["fault"]).contains("policy.toml:1:1: the file is empty"))
        #expect(throws: AgentFailure.self) { try files() }
    }

    @Test("are adopted when they differ, and not when they do not")
    func same() throws {
        let rules = try files()
        let before = rules.report
        #expect(before["default"] == .string("deny"))
        #expect(rules.reload(.signal) == nil)
        try folder.write("policy.toml", "default = \"allow\"\n")
        let event = try #require(rules.reload(.signal))
        guard case .rules(let policy?, let routes, _) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(policy.allowsByDefault)
        #expect(routes.routes.isEmpty)
        #expect(rules.report["default"] == .string("allow"))
        #expect(rules.report["digest"] != before["digest"])
        #expect(rules.reload(.signal) == nil)
    }

    @Test("are adopted both or neither")
    func together() throws {
        let rules = try files()
        try folder.write("agent.toml", Self.agent + Self.route)
        try folder.write("policy.toml", "default = 7\n")
        #expect(rules.reload(.signal) == nil)
        #expect(text(rules.report["fault"]).contains("policy.toml:1:11: "))
        #expect(rules.report["routes"] == .integer(0))
        #expect(rules.report["default"] == .string("deny"))
        try folder.write("policy.toml", "default = \"allow\"\n")
        #expect(rules.reload(.signal) != nil)
        #expect(rules.report["fault"] == nil)
        #expect(rules.report["routes"] == .integer(1))
    }

    @Test("change no other setting, and name what waits")
    func waiting() throws {
        let rules = try files()
        try folder.write("agent.toml", "name = \"x\"\n" + Self.agent + Self.route)
        _ = rules.reload(.signal)
        #expect(rules.report["waiting"] == .array([.string("name")]))
        #expect(rules.name == "board")
        try folder.write("agent.toml", Self.agent)
        #expect(rules.reload(.signal) != nil)
        #expect(rules.report["waiting"] == .array([]))
    }

    /// A board without own rules, with a restored policy that denies.
    private func restore() throws {
        try folder.remove("policy.toml")
        try folder.write("agent.toml", "state_dir = \"\(folder.path)/state\"\n" + Self.agent)
        let restored = "\(folder.path)/state/restored"
        try FileManager.default.createDirectory(
            atPath: restored, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try folder.write("state/restored/policy.toml", "default = \"deny\"\n", mode: 0o600)
    }

    @Test("that were restored are named by their own file")
    func restoredNames() throws {
        let content = "state_dir = \"\(folder.path)/state\"\n" + Self.agent
        try folder.write("agent.toml", content)
        let settings = try BoardFiles(folder: folder.path).settings
        let route = Self.route.replacing("\"Reading\"", with: "\"{1}\"")
        let restored = try RestoredRules(
            BoardConfiguration(policy: nil, routes: "\n" + route), for: settings)
        guard case .refused(_, let rejection)? = RouteTable(restored.routes).entry(of: "z/1st")
        else {
            Issue.record("not refused")
            return
        }
        #expect("\(rejection.rule)" == "restored/routes.toml:2")
    }

    @Test("that were restored stay in force when they are gone")
    func restoredGone() throws {
        try restore()
        let rules = try files()
        #expect(rules.report["default"] == .string("deny"))
        try folder.remove("state/restored/policy.toml")
        try folder.write("agent.toml", "state_dir = \"\(folder.path)/state\"\n" + Self.agent + " ")
        #expect(rules.reload(.change) == nil)
        #expect(rules.reload(.change) == nil)
        #expect(text(rules.report["fault"]).contains("restored/policy.toml is gone"))
        #expect(rules.report["default"] == .string("deny"))
    }

    @Test("of the folder end restored ones, which do not come back")
    func superseded() throws {
        try restore()
        let rules = try files()
        try folder.write("policy.toml", "default = \"allow\"\n")
        #expect(rules.reload(.signal) != nil)
        #expect(rules.report["default"] == .string("allow"))
        let path = "\(folder.path)/state/restored/policy.toml"
        #expect(!FileManager.default.fileExists(atPath: path))
        try folder.remove("policy.toml")
        #expect(rules.reload(.change) == nil)
    }

    @Test("that are gone count as meant only for a signal")
    func gone() throws {
        let rules = try files()
        try folder.remove("policy.toml")
        #expect(rules.reload(.change) == nil)
        // The watch had news of its own to look at first.
        #expect(rules.reload(.change) == nil)
        #expect(text(rules.report["fault"]).contains("policy.toml is gone"))
        let event = try #require(rules.reload(.signal))
        guard case .rules(nil, _, _) = event else {
            Issue.record("\(event)")
            return
        }
        try folder.remove("agent.toml")
        #expect(rules.reload(.signal) == nil)
        #expect(text(rules.report["fault"]).contains("agent.toml"))
    }

    @Test("are refused as links: who may change what they lead to is not known")
    func links() throws {
        let rules = try files()
        try folder.write("elsewhere.toml", "default = \"allow\"\n")
        try folder.remove("policy.toml")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/policy.toml",
            withDestinationPath: folder.path + "/elsewhere.toml")
        #expect(rules.reload(.signal) == nil)
        #expect(text(rules.report["fault"]).contains("the wrong kind of file"))
        #expect(rules.report["default"] == .string("deny"))
    }

    @Test("are refused in a folder that others may write to", arguments: [0o770, 0o707, 0o777])
    func folderModes(mode: Int) throws {
        let rules = try files()
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: folder.path)
        try folder.write("policy.toml", "default = \"allow\"\n")
        #expect(rules.reload(.signal) == nil)
        #expect(text(rules.report["fault"]).contains("too open"))
        #expect(rules.report["default"] == .string("deny"))
        #expect(throws: AgentFailure.self) { try RuleContent(folder: folder.path) }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.path)
        #expect(rules.reload(.signal) != nil)
    }

    @Test("are refused when others may change them")
    func modes() throws {
        let rules = try files()
        try folder.write("policy.toml", "default = \"allow\"\n", mode: 0o666)
        #expect(rules.reload(.signal) == nil)
        #expect(text(rules.report["fault"]).contains("too open"))
        #expect(rules.report["default"] == .string("deny"))
    }
}

/// Files of rules that `#expect` can ask.
private final class ReadFiles {
    private var files: RuleFiles

    init(_ files: consuming RuleFiles) { self.files = files }

    var name: String { files.inForce.settings.name }

    var report: [String: JSONValue] {
        guard case .object(let members) = files.report else { return [:] }
        return members
    }

    func reload(_ cause: RuleFiles.Cause) -> AgentEvent? { files.reload(cause) }
}

@Suite("Delay after a change")
struct ChangeDelayTests {
    @Test("is a quiet moment after the last change")
    func quiet() {
        var delay = ChangeDelay()
        #expect(delay.due == nil)
        delay.changed(at: .seconds(10))
        #expect(delay.due == .milliseconds(10_200))
        delay.changed(at: .milliseconds(10_150))
        #expect(delay.due == .milliseconds(10_350))
        delay.end()
        #expect(delay.due == nil)
    }

    @Test("is never longer than two seconds after the first")
    func bounded() {
        var delay = ChangeDelay()
        for step in 0..<100 { delay.changed(at: .milliseconds(step * 50)) }
        #expect(delay.due == .milliseconds(99 * 50))
        delay.end()
        delay.changed(at: .seconds(60))
        for step in 0..<38 { delay.changed(at: .milliseconds(60_000 + step * 50)) }
        #expect(delay.due == .seconds(62))
    }

    @Test("is short after a look that fell into a change")
    func again() {
        var delay = ChangeDelay()
        delay.changed(at: .seconds(1))
        delay.lookAgain(at: .seconds(2))
        #expect(delay.due == .milliseconds(2020))
    }
}
