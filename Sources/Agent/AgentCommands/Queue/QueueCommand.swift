import AgentCore
import AgentService
import ArgumentParser
import ConfigurationFiles
import Doctor
import LinuxIO
import Sessions
import Wire

/// `postern-agent queue`: shows the outbox and the dead letters.
struct QueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue", abstract: "Show and check the messages that wait on this board.",
        subcommands: [QueueShowCommand.self, QueueVerifyCommand.self, QueueExportCommand.self],
        defaultSubcommand: QueueShowCommand.self)
}

struct QueueShowCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show how full the outbox is, and what it lost.",
        discussion: """
            With --dead, shows the messages that no broker accepts, the newest first, without \
            their payloads. Exit status 3: writes are held, or some were lost.
            """)

    @OptionGroup var place: BoardPlace

    @Flag(help: "Show the dead letters: messages that no broker accepts.")
    var dead = false

    @Option(help: ArgumentHelp("The most dead letters to show.", valueName: "count"))
    var limit: Int64 = 100

    func perform() throws(AgentFailure) -> ExitStatus {
        guard (1...QueueAnswer.deadLimit).contains(limit) else {
            throw AgentFailure(.usage, "--limit must be 1 to \(QueueAnswer.deadLimit)")
        }
        var (isRunning, answer) = try BoardFiles.askAnyhow(place, .queue(dead: dead ? limit : 0))
        answer.members["running"] = .bool(isRunning)
        answer.members["wear"] = Self.wear(place)
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            let text = dead ? DeadLetterTable.lines(answer) : QueueText.lines(answer)
            for line in text { ProcessEnd.say(line, to: .output) }
        }
        return QueueText.isDegraded(answer) ? .degraded : .ok
    }

    /// The part of its life that the card or eMMC reports as used, at most, in per cent; null if
    /// the kernel does not report it. Source: JEDEC JESD84-B51 §7.4, DEVICE_LIFE_TIME_EST.
    private static func wear(_ place: BoardPlace) -> JSONValue {
        guard let files = try? BoardFiles(askingFrom: place.configDir),
            let tenths = DiskFacts(of: files.settings.stateDir, wanted: 0).lifeUsed
        else { return .null }
        return .integer(Int64(min(tenths, 10)) * 10)
    }
}

extension BoardFiles {
    /// Asks as `ask` does. A running agent is asked even if its files are broken by now.
    static func askAnyhow(
        _ place: BoardPlace, _ request: ControlRequest
    ) throws(AgentFailure) -> (isRunning: Bool, JSONObject) {
        do throws(AgentFailure) {
            return try BoardFiles(askingFrom: place.configDir).ask(request)
        } catch {
            let path = RuleContent.controlPath(in: place.configDir)
            guard error.status == .badConfiguration,
                let answer = try askRunning(path, request)
            else { throw error }
            return (true, answer)
        }
    }
}
