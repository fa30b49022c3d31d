import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Replace: Verb {
        static let configuration = CommandConfiguration(
            commandName: "replace", abstract: "Give the place of a dead board to another one.",
            discussion: """
                Pair the new board first. It gets the old one's name, labels, scope, timeline and \
                consumers, and its plots go on. The old board's session ends, its broker login is \
                cut, and its key is refused for ever. What waited on it is lost.
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
            surroundings.step(true, "\(fresh) has the place of \(dead)\(told.words)")
            if let lost = try lost(in: answer) { surroundings.note(lost) }
            if place.json { surroundings.emit(.object(answer.members)) }
        }

        private func lost(in answer: JSONObject) throws(CommandFailure) -> String? {
            try decoding { () throws(WireError) in
                guard let lost = try answer.optional("lost", { $0.asObject.map(JSONObject.init) })
                else { return nil }
                let count = try lost.integer("messages")
                var words = count == 1 ? "1 message that waited on the old board is lost"
                    : "\(count) messages that waited on the old board are lost"
                if let first = try lost.optional("first", { $0.asInteger }),
                    let last = try lost.optional("last", { $0.asInteger })
                {
                    words += first == last ? ": number \(first)" : ": numbers \(first) to \(last)"
                }
                return words + "; it may have held more, if it worked after its last report"
            }
        }
    }
}
