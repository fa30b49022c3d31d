import AgentCore
import AgentService
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy accept-none`: confirms that the policy file was removed on purpose.
struct PolicyAcceptNoneCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "accept-none",
        abstract: "Confirm that this board is to have no policy file.",
        discussion: """
            An agent that had a policy file in force and does not find it at its next start \
            refuses every write. Bring the file back; or, where it is gone on purpose, confirm \
            it by this command: then the built-in rules and the session's scope alone apply. \
            Exit status 2: there is a policy file.
            """)

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let path = RuleContent.policyPath(in: place.configDir)
        guard !PrivateFile.isThere(path) else {
            throw AgentFailure(.usage, "\(path) is there: remove it first, or keep it")
        }
        let (_, answer) = try BoardFiles.askAnyhow(place, .acceptNoPolicy)
        if let refusal = try? Refusal(json: answer) {
            throw AgentFailure(.failed, refusal.text)
        }
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            ProcessEnd.say("no policy file is meant: the built-in rules apply", to: .output)
        }
        return .ok
    }
}
