import AgentService
import AgentStore
import ArgumentParser
import ConfigurationFiles
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent queue verify`: reads the whole queue and reports what is damaged.
struct QueueVerifyCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read the whole outbox, and list what is damaged.",
        discussion: """
            Reads the files directly and changes nothing, whether or not the agent runs. Exit \
            status: 0 all can be read, 1 something cannot: segment and sequences are listed.
            """)

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let (folder, key) = try BoardFiles.queue(place)
        do throws(StoreError) {
            var check = try QueueCheck(folder: folder, keyFile: key)
            try check.run { if !place.json { ProcessEnd.say("… segment \($0)", to: .error) } }
            say(check)
            return check.findings.isEmpty ? .ok : .failed
        } catch {
            throw AgentFailure(error)
        }
    }

    private func say(_ check: QueueCheck) {
        if place.json {
            ProcessEnd.say(JSONValue.object([
                "frames": .integer(check.frames), "writes": .integer(check.writes),
                "findings": .array(check.findings.map { .string($0) }),
            ]).text, to: .output)
            return
        }
        for finding in check.findings { ProcessEnd.say("✗ \(finding)", to: .output) }
        let mark = check.findings.isEmpty ? "✓" : "✗"
        ProcessEnd.say("\(mark) \(check.frames) frames, \(check.writes) writes", to: .output)
    }
}

/// `postern-agent queue export`: writes what is readable of a damaged segment.
struct QueueExportCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export what can be read of a damaged segment.",
        discussion: """
            If a part of a segment cannot be read, the agent sets the segment aside and sends \
            the rest. This command writes the readable messages of it, one JSON object on each \
            line, with payloads in base64url. Without a name it lists the segments that were \
            set aside. Changes nothing.
            """)

    @OptionGroup var place: BoardPlace

    @Argument(help: ArgumentHelp("The segment, as `queue verify` names it.", valueName: "segment"))
    var segment: String?

    func perform() throws(AgentFailure) -> ExitStatus {
        let (folder, key) = try BoardFiles.queue(place)
        do throws(StoreError) {
            let export = try QueueExport(folder: folder, keyFile: key)
            guard let segment else {
                for name in export.segments { ProcessEnd.say(name, to: .output) }
                return export.segments.isEmpty ? .usage : .ok
            }
            guard try export.run(segment, { ProcessEnd.say(Self.line($0), to: .output) }) else {
                throw .corrupt("there is no segment \(segment) that was set aside")
            }
            return .ok
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
    }

    private static func line(_ write: AcceptedWrite) -> String {
        JSONValue.object([
            "seq": .integer(write.sequence), "time": .time(write.acceptedAt),
            "app": .string(write.app.description), "class": .string(write.className.description),
            "topic": .string(write.topic), "payload": .string(Base64URL.encode(write.payload)),
        ]).text
    }
}

extension BoardFiles {
    /// The queue's folder and its key file. Does not ask the agent.
    fileprivate static func queue(
        _ place: BoardPlace
    ) throws(AgentFailure) -> (folder: String, key: KeyFile) {
        let files = try BoardFiles(askingFrom: place.configDir)
        let folder = files.settings.stateDir
        guard BoardStore.exists(in: folder) else {
            throw AgentFailure(.notProvisioned, "this board was never started: there is no queue")
        }
        return (folder, files.keyFile())
    }
}
