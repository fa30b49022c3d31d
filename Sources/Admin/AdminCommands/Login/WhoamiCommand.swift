import ArgumentParser
import Sessions
import Wire

/// `postern whoami`: asks the authority, so that the user learns of an ended session.
struct WhoamiCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "whoami", abstract: "Show your user name and authority.")

    @OptionGroup var place: Place

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let (profile, client) = try place.login(in: surroundings)
        let answer = try await client.own(.get, "/me")
        let user = try decoding { () throws(WireError) in
            try UserRow(json: try answer.object("user"))
        }
        if place.json {
            var members = user.members
            members["authority"] = .string(profile.authority.description)
            return surroundings.emit(.object(members))
        }
        let rights = user.rights.isEmpty ? "" : " (\(user.rights))"
        surroundings.out("\(Printable.line(user.username)) at \(profile.authority)\(rights)")
    }
}
