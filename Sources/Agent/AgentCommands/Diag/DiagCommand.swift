import AgentService
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent diag`: collects data for support.
struct DiagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diag", abstract: "What somebody needs who is to help from afar.",
        subcommands: [DiagCollectCommand.self])
}

struct DiagCollectCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract: "Put logs, configuration, status and doctor's result into one archive.",
        discussion: """
            Works also where the agent is down or its files are broken. Secrets are cut by their \
            value, their look and the names before them, and comments with them; MANIFEST in \
            the archive says what was cut. Look it through before you give it away: a secret \
            that nobody could know for one may be left in a log. Exit status 3: a part could \
            not be had.
            """)

    @OptionGroup var place: BoardPlace

    @Option(help: ArgumentHelp(
        "The archive to make; without it postern-diag-TIME.tar here. Never overwritten.",
        valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("A log to add, its last 4 MiB. Repeatable.", valueName: "file"))
    var log: [String] = []

    func perform() throws(AgentFailure) -> ExitStatus {
        guard log.count <= 32 else { throw AgentFailure(.usage, "--log at most 32 times") }
        let now = Instant.current.wall
        let path = output ?? "postern-diag-\(Self.stamp(now)).tar"
        guard !PrivateFile.isThere(path) else {
            throw AgentFailure(.usage, "\(path) is there already; nothing was written")
        }
        let missing: [(name: String, why: String)]
        do throws(FileFailure) {
            // The file is created before the process gives up root.
            let file = try NewPrivateFile(path)
            var collection = DiagCollection(place, at: now)
            collection.collect(logs: log)
            missing = collection.missing
            try file.write(collection.archive())
        } catch {
            throw AgentFailure(error)
        }
        for (name, why) in missing {
            ProcessEnd.say("✗ \(name): \(PlainText.line(why))", to: .error)
        }
        ProcessEnd.say("✓ \(path): look it through before you give it away", to: .error)
        let answer = JSONValue.object([
            "archive": .string(path),
            "missing": .array(missing.map { .string($0.name) }),
        ])
        ProcessEnd.say(place.json ? answer.text : path, to: .output)
        return missing.isEmpty ? .ok : .degraded
    }

    /// `20261122T0324Z`.
    private static func stamp(_ time: Timestamp) -> String {
        let text = CalendarText.utc(time)
        return text.filter { $0 != "-" && $0 != ":" }.replacing(" ", with: "T") + "Z"
    }
}
