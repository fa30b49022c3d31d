import AgentService
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent diag`: collects data for support.
struct DiagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diag", abstract: "Collect what a remote helper needs.",
        subcommands: [DiagCollectCommand.self])
}

struct DiagCollectCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract: "Put logs, configuration, status and doctor's result into one archive.",
        discussion: """
            Also works if the agent is down or its files are broken. Known secrets, texts that \
            look like a secret, values after names such as password, and comments are removed; \
            MANIFEST in the archive lists them. Read the archive before you give it away: a \
            log may still hold a secret that nothing marks as one. Exit status 3: a part could \
            not be collected.
            """)

    @OptionGroup var place: BoardPlace

    @Option(help: ArgumentHelp(
        "The archive to write; default postern-diag-TIME.tar here. Overwrites no file.",
        valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("A log to add (its last 4 MiB). Repeatable.", valueName: "file"))
    var log: [String] = []

    func perform() throws(AgentFailure) -> ExitStatus {
        guard log.count <= 32 else { throw AgentFailure(.usage, "--log at most 32 times") }
        let now = Instant.current.wall
        let path = output ?? "postern-diag-\(Self.stamp(now)).tar"
        guard !PrivateFile.isThere(path) else {
            throw AgentFailure(.usage, "\(path) exists already; nothing was written")
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
        ProcessEnd.say("✓ \(path): read it before you give it away", to: .error)
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
