import Foundation
import Testing

@testable import Board

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

    private func run(_ words: String, in folder: TemporaryFolder) -> Board.ExitStatus {
        AgentProgram.run(words.split(separator: " ").map(String.init)
            + ["--config-dir", folder.path])
    }

    @Test("say how they are used, with status 2 unless they were asked", arguments: [
        ([], .usage), (["--help"], .ok), (["--version"], .ok), (["run", "--help"], .ok),
        (["nonsense"], .usage), (["status", "--colour"], .usage), (["policy"], .usage),
        (["policy", "explain"], .usage), (["status", "extra"], .usage),
        (["pair", "--config-dir"], .usage),
    ] as [([String], Board.ExitStatus)])
    func usage(words: [String], status: Board.ExitStatus) {
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
    ])
    func unprovisioned(words: String) throws {
        #expect(run(words, in: try folder()) == .notProvisioned)
    }

    @Test("policy explain answers for any name that an app could write", arguments: [
        ("thermo create Reading", .ok), ("thermo create _User", .ok), ("thermo update A --json",
        .ok),
        ("thermo create _User/../x", .ok), ("thermo create a+b --json", .ok),
        ("Thermo create Reading", .usage), ("thermo read Reading", .usage),
    ] as [(String, Board.ExitStatus)])
    func explain(words: String, status: Board.ExitStatus) throws {
        let folder = try folder()
        try folder.write("policy.toml", "default = \"deny\"\n")
        #expect(run("policy explain " + words, in: folder) == status)
        #expect(run("policy check", in: folder) == .ok)
    }

    @Test("a payload that is not there is a failure with its layer")
    func payload() throws {
        let folder = try folder()
        #expect(run("policy explain thermo create A --payload /nowhere/x", in: folder)
            == .badConfiguration)
    }
}
