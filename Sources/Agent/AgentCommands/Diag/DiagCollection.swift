import AgentCore
import AgentService
import AgentStore
import ConfigurationFiles
import Cryptography
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// Collects the files for support, and cuts the secrets out of each.
struct DiagCollection {
    /// The parts that could not be collected, and why.
    private(set) var missing: [(name: String, why: String)] = []
    private var names: [String] = []
    private var tar: TarArchive
    private var cut: SecretCut
    private let place: BoardPlace

    private static let logLimit = 4 << 20
    private static let fileLimit = 1 << 20
    private static let journalLines = "5000"

    init(_ place: BoardPlace, at time: Timestamp) {
        self.place = place
        tar = TarArchive(at: time)
        let content = try? RuleContent(
            folder: place.configDir, withoutPolicy: true, strictestMode: 0o777)
        cut = SecretCut(knowing: Self.secrets(try? content?.settings()))
    }

    /// Collects logs and the broker's files first, because doctor then changes from root to the
    /// agent's user.
    mutating func collect(logs: [String]) {
        collectConfiguration()
        for log in logs {
            // Two logs may have the same name.
            let name = "logs/\(names.count)-" + (log.split(separator: "/").last ?? "log")
            add(name, from: log, limit: Self.logLimit, isTail: true)
        }
        addOutput("logs/journal.txt", of: "journalctl", [
            "-u", "postern-agent", "-n", Self.journalLines, "--no-pager", "--output", "short-iso",
        ], limit: Self.logLimit)
        addOutput("system/df.txt", of: "df", ["-k"], limit: 65_536)
        addOutput("system/mounts.txt", of: "cat", ["/proc/self/mounts"], limit: 262_144)
        collectWords(BoardFacts(place))
    }

    /// Returns the archive, with a list of its files and of what was cut.
    mutating func archive() -> [UInt8] {
        let counts = cut.counts.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }
        let lacks = missing.map { "  \($0.name): \(PlainText.line($0.why))" }
        let text = ["postern-agent \(Release.version), diag collect", "", "Files:"]
            + names.map { "  \($0)" }
            + ["", "Removed, shown as \(SecretCut.mark), and how often:"]
            + (counts.isEmpty ? ["  nothing"] : counts)
            + ["", "Not available:"] + (lacks.isEmpty ? ["  nothing"] : lacks)
            + ["", "A secret that nothing marks as one may be left. Read all files.", ""]
        tar.add("MANIFEST", Array(text.joined(separator: "\n").utf8))
        return tar.closed()
    }

    // The answers of the agent, or of its state folder.
    private mutating func collectWords(_ facts: BoardFacts) {
        collectRestored(facts.settings)
        let report = DoctorReport(BoardCheck.all, facts)
        add("doctor.json", report.json)
        add("doctor.txt", Array(report.lines.joined(separator: "\n").utf8))
        if let status = facts.status {
            var members = status.members
            members["running"] = .bool(facts.isRunning)
            add("status.json", .object(members))
        } else {
            miss("status.json", facts.askingFault ?? facts.vaultFault ?? "there is no state")
        }
        do throws(AgentFailure) {
            add("queue.json", .object(
                try BoardFiles.askAnyhow(place, .queue(dead: 100)).1.members))
        } catch {
            miss("queue.json", error.sentence)
        }
        let versions = facts.versions + [("libmosquitto", facts.mosquittoVersion)]
        add("versions.json", .object(
            Dictionary(versions.map { ($0.0, .string($0.1)) }) { first, _ in first }))
    }

    /// The rules of a replaced board. The state folder belongs to the agent's user, so this comes
    /// after root was given up: a link there must not lead root to another file.
    private mutating func collectRestored(_ settings: BoardSettings?) {
        guard let folder = settings?.stateDir else { return }
        for path in [RestoredRules.policyPath(in: folder), RestoredRules.routesPath(in: folder)]
        where PrivateFile.isThere(path) {
            let name = "configuration/restored/" + (path.split(separator: "/").last ?? "")
            do throws(FileFailure) {
                let bytes = try PrivateFile.read(path, limit: Self.fileLimit)
                add(name, bytes, isSettings: true)
            } catch {
                miss(name, "\(error)")
            }
        }
    }

    private mutating func collectConfiguration() {
        let folder = place.configDir
        for name in ["agent.toml", "policy.toml"] {
            let path = "\(folder)/\(name)"
            guard name == "agent.toml" || PrivateFile.isThere(path) else { continue }
            add("configuration/\(name)", from: path, limit: Self.fileLimit, isSettings: true)
        }
        let broker = "/etc/mosquitto"
        let parts = (try? PrivateFolder.names(in: "\(broker)/conf.d")) ?? []
        // The password file is left out: it is of no help.
        let files = ["mosquitto.conf", "postern.acl"]
            + parts.filter { $0.hasSuffix(".conf") }.sorted().prefix(16).map { "conf.d/\($0)" }
        for file in files where PrivateFile.isThere("\(broker)/\(file)") {
            add(
                "broker/\(file)", from: "\(broker)/\(file)", limit: Self.fileLimit,
                isSettings: true)
        }
    }

    /// The secret values that the configuration names.
    private static func secrets(_ settings: BoardSettings?) -> [SecretBytes] {
        guard let bus = settings?.bus,
            let password = try? BoardFiles.busPassword(bus, strictestMode: 0o777)
        else { return [] }
        return [password]
    }
}

extension DiagCollection {
    private mutating func miss(_ name: String, _ why: String) { missing.append((name, why)) }

    private mutating func add(_ name: String, _ json: JSONValue) {
        names.append(name)
        tar.add(name, cut.cut(knownIn: cut.cut(json).bytes))
    }

    private mutating func add(_ name: String, _ text: [UInt8], isSettings: Bool = false) {
        names.append(name)
        tar.add(name, isSettings ? cut.cut(settings: text) : cut.cut(text))
    }

    private mutating func add(
        _ name: String, from path: String, limit: Int, isSettings: Bool = false,
        isTail: Bool = false
    ) {
        do throws(FileFailure) {
            let bytes = try isTail
                ? LogTail.read(path, limit: limit) : Self.read(path, limit: limit)
            add(name, bytes, isSettings: isSettings)
        } catch {
            miss(name, "\(error)")
        }
    }

    private static func read(_ path: String, limit: Int) throws(FileFailure) -> [UInt8] {
        var file = try InputFile(path)
        return try file.read(first: limit)
    }

    private mutating func addOutput(
        _ name: String, of program: String, _ arguments: [String], limit: Int
    ) {
        do throws(ChildProgram.Failure) {
            let bytes = try ChildProgram.output(
                of: program, arguments, limit: limit, patience: .seconds(10))
            add(name, bytes)
        } catch {
            // A system without the program is no fault: it keeps its logs elsewhere.
            if case .notInstalled = error { return }
            miss(name, "\(program): \(error)")
        }
    }
}

/// Reads the end of a log, from the start of a line.
enum LogTail {
    /// Reads the log once and keeps the last `limit` bytes. Reads at most 256 times `limit`.
    static func read(_ path: String, limit: Int) throws(FileFailure) -> [UInt8] {
        var file = try InputFile(path)
        var kept: [UInt8] = []
        for round in 0..<256 {
            let part = try file.read(first: limit)
            guard !part.isEmpty else { break }
            kept += part
            guard kept.count > limit else { continue }
            kept.removeFirst(kept.count - limit)
            // A cut first line may contain half a secret, so it is removed.
            if round > 0, let end = kept.firstIndex(of: UInt8(ascii: "\n")) {
                kept.removeFirst(end + 1)
            }
        }
        return kept
    }
}
