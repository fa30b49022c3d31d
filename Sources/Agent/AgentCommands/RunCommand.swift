import AgentService
import ArgumentParser

/// `postern-agent run`: runs the agent as a service.
struct RunCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the agent until a signal stops it.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        try ClaimHandover(folder: place.configDir).performAtStart()
        return try Service(try BoardFiles(folder: place.configDir)).run()
    }
}
