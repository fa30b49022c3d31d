import AgentService
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent join`: hands a prepared claim's file to the agent.
struct JoinCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Hand a prepared claim to the agent.",
        discussion: """
            Looks for the file that `postern claims prepare` made: claim in the folder of \
            agent.toml, then /boot/firmware/postern-claim. Writes what agent.toml lacks, and moves \
            the file to the state folder. The agent takes it when it starts, and asks to join. The \
            package does this at each start of the board.
            """)

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        guard let done = try ClaimHandover(folder: place.configDir).perform() else {
            let places = ClaimFile.places(configDir: place.configDir, stateDir: nil).map(\.path)
            ProcessEnd.say(
                "there is no prepared claim at " + places.joined(separator: " or "), to: .error)
            return .usage
        }
        if place.json {
            let answer: [String: JSONValue] = [
                "authority": .string(done.claim.authority), "name": .string(done.claim.name),
                "expiresAt": .time(done.claim.expiresAt), "file": .string(done.place.path),
                "configured": .bool(done.isConfigured),
                "fault": done.fault.map { .string("\($0)") } ?? .null,
            ]
            ProcessEnd.say(JSONValue.object(answer).text, to: .output)
        } else {
            report(done)
        }
        return done.fault == nil ? .ok : .failed
    }

    private func report(_ done: ClaimHandover.Done) {
        let lines = [
            done.passedOver.map { "✗ " + $0.sentence },
            done.isReplacement ? "! it replaces a claim that no agent has taken" : nil,
            done.wasOpen
                ? "! other users could read \(done.source.path): write it with mode 0600" : nil,
            done.isConfigured ? "✓ " + RuleContent.agentPath(in: place.configDir) : nil,
            "✓ \(done.claim.name) will ask to join \(done.claim.authority)",
            done.fault.map { fault in
                "✗ the file could not be erased (\(fault)): remove \(done.source.path): a copy "
                    + "of it may bring another board in place of this one"
            },
            "next: `sudo systemctl restart postern-agent`, then compare the fingerprint that "
                + "`sudo postern-agent status` shows",
        ]
        for line in lines.compactMap(\.self) { ProcessEnd.say(line, to: .error) }
    }
}
