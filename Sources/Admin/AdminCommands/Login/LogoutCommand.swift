import ArgumentParser
import Sessions
import Wire

/// `postern logout`: ends the session at the authority, then deletes it here.
struct LogoutCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session and forget it.")

    @OptionGroup var place: Place

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let folder = try place.folder(in: surroundings)
        guard try folder.load() != nil else { throw .usage("nothing to do: you are logged out") }
        let (profile, client) = try place.login(in: surroundings)
        do throws(CommandFailure) {
            _ = try await client.own(.post, "/console/logout")
        } catch {
            // If the session has already ended, that is enough. A lost connection is a failure.
            guard error.exitStatus == .notLoggedIn else { throw error }
        }
        try folder.remove()
        surroundings.step(true, "logged out at \(profile.authority)")
        if place.json { surroundings.emit(.object(["username": .string(profile.username)])) }
    }
}
