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
        abstract: "Confirm that this board needs no policy file.",
        discussion: """
            If a policy file was in force and is missing at the next start, the agent refuses \
            every write. Put the file back; or, if you removed it on purpose, confirm that with \
            this command: then only the built-in rules and the session's scope apply. \
            Exit status 2: there is a policy file.
            """)

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let path = RuleContent.policyPath(in: place.configDir)
        guard !PrivateFile.isThere(path) else {
            throw AgentFailure(.usage, "\(path) exists: remove it first, or keep it")
        }
        let (_, answer) = try BoardFiles.askAnyhow(place, .acceptNoPolicy)
        if let refusal = try? Refusal(json: answer) {
            throw AgentFailure(.failed, refusal.text)
        }
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            ProcessEnd.say("confirmed: no policy file, the built-in rules apply", to: .output)
        }
        return .ok
    }
}
