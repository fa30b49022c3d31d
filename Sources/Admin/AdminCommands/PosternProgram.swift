import ArgumentParser
import Foundation
import LinuxIO

/// `postern`, the administrator's program.
package enum PosternProgram {
    /// Runs the command of this process and ends the process with its status.
    package static func main() async -> Never {
        do throws(SystemError) {
            try ProcessHardening.apply()
        } catch {
            CommandEnvironment.process.note("postern: \(error)")
            ProcessEnd.leave(ExitStatus.failed.rawValue)
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        let status = await run(arguments, in: .process)
        // A thread of a broker client may still run, so end the whole process.
        ProcessEnd.leave(status.rawValue)
    }

    /// Runs one command line. Its only effects are output, messages and the exit status.
    package static func run(
        _ arguments: [String], in surroundings: CommandEnvironment
    ) async -> ExitStatus {
        var command: any ParsableCommand
        do {
            command = try await PosternCommand.asyncParseAsRoot(arguments)
            if command is PosternCommand {
                surroundings.note(PosternCommand.helpMessage(columns: surroundings.width))
                return .usage
            }
            guard command is any Verb else {
                try command.run()
                return .ok
            }
        } catch {
            return explain(error, in: surroundings)
        }
        guard let verb = command as? any Verb else { return .ok }
        do throws(CommandFailure) {
            try await verb.perform(in: surroundings)
            return .ok
        } catch {
            surroundings.note("postern: \(error.sentence)")
            return error.exitStatus
        }
    }

    /// Help is a result. Any other parsing message is wrong usage, with status 2.
    private static func explain(
        _ error: any Error, in surroundings: CommandEnvironment
    ) -> ExitStatus {
        let message = PosternCommand.fullMessage(for: error, columns: surroundings.width)
        if PosternCommand.exitCode(for: error) == .success {
            surroundings.out(message)
            return .ok
        }
        surroundings.note(message)
        return .usage
    }
}

/// The root command. It does nothing itself.
struct PosternCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postern",
        abstract: "Claim boards and manage their sessions.",
        discussion: """
            Results go to standard output, messages to standard error. Exit status: 0 done, \
            1 failed, 2 wrong usage or nothing to do, 3 works but degraded, 4 not logged in \
            or the session has ended, 5 no connection or no answer in time, 77 not permitted, \
            78 bad configuration, 130 interrupted.
            """,
        version: "postern \(release)",
        subcommands: [
            LoginCommand.self, LogoutCommand.self, WhoamiCommand.self, PasswdCommand.self,
            ClaimCommand.self, ClaimsCommand.self, BoardsCommand.self, SessionsCommand.self,
            UsersCommand.self, SendCommand.self, ConsumersCommand.self, AlertsCommand.self,
            AuditCommand.self, WatchCommand.self, ExportCommand.self, SimulateCommand.self,
            PersonDoctorCommand.self,
        ])

    static let release = "0.1.0"

    @OptionGroup var place: Place
}
