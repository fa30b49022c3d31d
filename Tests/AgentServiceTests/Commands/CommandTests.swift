import Foundation
import Sessions
import Testing
import Wire

@testable import AgentCommands
@testable import AgentService

@Suite("Commands of the agent")
struct CommandTests {
    private static let settings = """
        name = "greenhouse"
        state_dir = "STATE"
        run_dir = "RUN"
        [bus]
        uri = "mqtt://127.0.0.1:1"
        [uplink]
        uri = "mqtt://127.0.0.1:1"

        """

    private func folder(_ text: String = settings, mode: Int = 0o640) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(
            "agent.toml",
            text.replacing("STATE", with: folder.path + "/state")
                .replacing("RUN", with: folder.path + "/run"), mode: mode)
        return folder
    }

    private func run(_ words: String, in folder: TemporaryFolder) -> AgentService.ExitStatus {
        AgentProgram.run(words.split(separator: " ").map(String.init)
            + ["--config-dir", folder.path])
    }

    @Test("say how they are used, with status 2 unless they were asked", arguments: [
        ([], .usage), (["--help"], .ok), (["--version"], .ok), (["run", "--help"], .ok),
        (["nonsense"], .usage), (["status", "--colour"], .usage), (["policy"], .usage),
        (["policy", "explain"], .usage), (["status", "extra"], .usage),
        (["pair", "--config-dir"], .usage),
    ] as [([String], AgentService.ExitStatus)])
    func usage(words: [String], status: AgentService.ExitStatus) {
        #expect(AgentProgram.run(words) == status)
    }

    @Test("end with 78 for a configuration that is not there, unknown or too open")
    func configuration() throws {
        let empty = try TemporaryFolder()
        #expect(run("status", in: empty) == .badConfiguration)
        #expect(run("run", in: try folder("nam = \"x\"\n" + Self.settings)) == .badConfiguration)
        #expect(run("status", in: try folder("name = \n")) == .badConfiguration)
        #expect(run("status", in: try folder(mode: 0o644)) == .badConfiguration)
        let policy = try folder()
        try policy.write("policy.toml", "defualt = \"deny\"\n")
        #expect(run("policy check", in: policy) == .badConfiguration)
        #expect(run("status", in: policy) == .badConfiguration)
    }

    @Test("pair makes the identity where there is none, and the same claim again")
    func pair() throws {
        let folder = try folder()
        #expect(run("pair --json", in: folder) == .ok)
        let key = folder.path + "/state/storage.key"
        let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(run("pair", in: folder) == .ok)
        #expect(run("pair --new --json", in: folder) == .ok)
    }

    @Test("status and session end with 4 on a board without a session", arguments: [
        "status", "status --json", "session", "session show --json",
        "session refresh", "session refresh --json --for 30d", "session logout",
        "session logout --json",
    ])
    func unprovisioned(words: String) throws {
        #expect(run(words, in: try folder()) == .notProvisioned)
    }

    @Test("wait for one another: none fails because another has the state for a moment")
    func together() async throws {
        let folder = try folder()
        #expect(run("status", in: folder) == .notProvisioned)
        await withTaskGroup(of: AgentService.ExitStatus.self) { group in
            for _ in 0..<6 { group.addTask { run("session logout --json", in: folder) } }
            for await status in group { #expect(status == .notProvisioned) }
        }
    }

    @Test("session refresh --for takes 5 minutes to 1 year", arguments: [
        ("4m", .usage), ("366d", .usage), ("soon", .usage), ("-1d", .usage), ("0s", .usage),
        ("5m", .notProvisioned), ("365d", .notProvisioned), ("8760h", .notProvisioned),
    ] as [(String, AgentService.ExitStatus)])
    func span(text: String, status: AgentService.ExitStatus) throws {
        #expect(run("session refresh --for \(text)", in: try folder()) == status)
    }

    @Test("session refresh and logout end with a status and say what was not done", arguments: [
        ("done", "available", .ok, .ok), ("done", "unavailable", .notProvisioned, .ok),
        ("offline", "available", .offline, .offline), ("late", "available", .offline, .offline),
        ("no-session", "unavailable", .notProvisioned, .notProvisioned),
        ("refused", "available", .failed, .failed), ("", "available", .failed, .failed),
    ] as [(String, String, AgentService.ExitStatus, AgentService.ExitStatus)])
    func outcome(
        result: String, state: String, refresh: AgentService.ExitStatus,
        logout: AgentService.ExitStatus
    ) {
        let answer = JSONObject([
            "result": .string(result), "state": .string(state), "uplink": .string("tcp: gone"),
            "error": .object(["code": .integer(101), "error": .string("no such family")]),
        ])
        let told = SessionRefreshCommand.outcome(answer, true)
        #expect(told.0 == refresh)
        #expect((told.1 == nil) == (result == "done"))
        #expect(told.1?.contains("tcp: gone") ?? false == (result == "offline"))
        #expect(told.1?.contains("101 no such family") ?? false == (refresh == .failed))
        #expect(SessionLogoutCommand.outcome(answer).0 == logout)
    }

    @Test("policy explain answers for any name that an app could write", arguments: [
        ("thermo create Reading", .ok), ("thermo create _User", .ok), ("thermo update A --json",
        .ok),
        ("thermo create _User/../x", .ok), ("thermo create a+b --json", .ok),
        ("Thermo create Reading", .usage), ("thermo read Reading", .usage),
    ] as [(String, AgentService.ExitStatus)])
    func explain(words: String, status: AgentService.ExitStatus) throws {
        let folder = try folder()
        try folder.write("policy.toml", "default = \"deny\"\n")
        #expect(run("policy explain " + words, in: folder) == status)
        #expect(run("policy check", in: folder) == .ok)
    }

    @Test("a payload that is not there is a failure with its layer")
    func payload() throws {
        let folder = try folder()
        #expect(run("policy explain thermo create A --payload /nowhere/x", in: folder)
            == .usage)
    }
}
