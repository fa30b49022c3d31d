import AgentService
import ArgumentParser
import LinuxIO

/// The command-line program `postern-agent`.
package enum AgentProgram {
    /// Runs the command in the process's arguments, and ends the process with its exit status.
    package static func main() -> Never {
        do throws(SystemError) {
            // Postern reports tpm2-tss's errors itself, so the library's own log is off.
            try Environment.set("TSS2_LOG", to: "all+none")
            try ProcessHardening.apply()
        } catch {
            ProcessEnd.say("postern-agent: \(error)", to: .error)
            ProcessEnd.exit(ExitStatus.failed.rawValue)
        }
        ProcessEnd.exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        let command: any ParsableCommand
        do {
            command = try AgentCommand.parseAsRoot(arguments)
        } catch {
            return explain(error)
        }
        guard let verb = command as? any AgentVerb else {
            return explain(command)
        }
        do throws(AgentFailure) {
            return try verb.perform()
        } catch {
            ProcessEnd.say("postern-agent: \(error.sentence)", to: .error)
            return error.status
        }
    }

    /// A help request is a command of the parser. A command of ours without a verb is wrong usage.
    private static func explain(_ command: any ParsableCommand) -> ExitStatus {
        if command is AgentCommand || command is PolicyCommand || command is DiagCommand {
            ProcessEnd.say(AgentCommand.helpMessage(for: type(of: command)), to: .error)
            return .usage
        }
        do {
            var help = command
            try help.run()
            return .ok
        } catch {
            return explain(error)
        }
    }

    /// Help is a result. Any other parser error is wrong usage, status 2.
    private static func explain(_ error: any Error) -> ExitStatus {
        let isResult = AgentCommand.exitCode(for: error) == .success
        ProcessEnd.say(AgentCommand.fullMessage(for: error), to: isResult ? .output : .error)
        return isResult ? .ok : .usage
    }
}

/// A command that does something, unlike one that only groups others.
protocol AgentVerb: ParsableCommand {
    func perform() throws(AgentFailure) -> ExitStatus
}

/// The root command. It only groups the others.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postern-agent",
        abstract: "Keep this board's session, check its apps' writes, and forward what passes.",
        discussion: """
            Results go to standard output, messages to standard error. Exit status: 0 done, \
            1 failed, 2 wrong usage or nothing to do, 3 works but degraded, 4 not provisioned \
            or revoked, 5 offline, 77 not permitted, 78 bad configuration.
            """,
        version: "postern-agent \(Release.version)",
        subcommands: [
            SetupCommand.self, JoinCommand.self, RunCommand.self, PairCommand.self,
            StatusCommand.self, SessionCommand.self, QueueCommand.self, PolicyCommand.self,
            VaultCommand.self, BoardDoctorCommand.self, DiagCommand.self,
        ])

    @OptionGroup var place: BoardPlace
}

/// The options for the configuration folder and for JSON results.
struct BoardPlace: ParsableArguments {
    @Option(help: ArgumentHelp("The folder of agent.toml and policy.toml.", valueName: "folder"))
    var configDir = "/etc/postern"

    @Flag(help: "Results as JSON.")
    var json = false
}
