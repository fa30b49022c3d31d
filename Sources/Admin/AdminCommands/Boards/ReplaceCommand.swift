import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Replace: Verb {
        static let configuration = CommandConfiguration(
            commandName: "replace", abstract: "Replace a dead board by another one.",
            discussion: """
                Pair the new board first, and turn the old one off. The new one gets its name, \
                labels, scope, shares, timeline and consumers, and its plots go on. The old \
                board's session ends, its broker login is cut, and its key is refused for ever. \
                What waited on it is lost. The old board's policy and routes come along if both \
                have [backup] configuration = true in their agent.toml. If the new one has sent \
                its own, the old ones are deleted: `postern boards configuration OLD --out \
                FOLDER` saves them before. If the old board was revoked or signed out, its scope \
                comes along only where the new one has none, and only if it grants no topics.
                """)

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var old: String
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var new: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let (dead, fresh) = (
                try await client.board(named: old), try await client.board(named: new))
            let answer = try await client.own(
                .post, "/boards/\(dead.id)/replace", ["by": .string(fresh.id.description)])
            let told = BrokerDelivery(answer)
            surroundings.step(true, "\(fresh) replaces \(dead)\(told.words)")
            try report(answer, surroundings)
            surroundings.note(answer.members["configuration"] == .bool(true)
                ? "the new board takes the old one's policy and routes if it has none, and has "
                    + "[backup] configuration = true in its agent.toml"
                : "no policy and no routes come along: the old board had sent none, or the new "
                    + "one its own")
            if place.json { surroundings.emit(.object(answer.members)) }
        }

        private func report(
            _ answer: JSONObject, _ surroundings: CommandEnvironment
        ) throws(CommandFailure) {
            try decoding { () throws(WireError) in
                let lost = try answer.object("lost")
                if let after = try lost.optional("after", { $0.asInteger }) {
                    surroundings.note(
                        "what the old board accepted after number \(after) is lost")
                }
                if let waited = try lost.optional("waited", { $0.asInteger }) {
                    surroundings.note("at its last report \(waited) messages waited on it")
                }
            }
        }
    }
}
