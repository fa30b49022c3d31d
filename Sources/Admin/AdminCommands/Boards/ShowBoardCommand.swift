import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Show: Verb {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a board: its session, when that ends, its queue.")

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let id = try await client.board(named: board).id
            let answer = try await client.own(.get, "/boards/\(id)")
            let row = try decoding { () throws(WireError) in try BoardRow(json: answer) }
            if place.json { return surroundings.emit(row.json) }
            surroundings.show(table(row, answer, surroundings.times))
        }

        private func table(_ row: BoardRow, _ answer: JSONObject, _ times: TimeText) -> TextTable {
            var table = TextTable("BOARD", row.name)
            table.add("installation", row.installation.description)
            table.add("owner", row.ownerWords)
            table.add("status", row.condition)
            table.add("version", row.version ?? "")
            let id = row.session.map { "\($0), " } ?? ""
            table.add("session", id + row.sessionWords)
            if row.sessionState == "active" { table.add("ends", row.ends(times)) }
            if let help = row.help { table.add("next step", help) }
            table.add("last seen", times.show(row.lastSeen))
            for (name, member) in [
                ("waiting", "queue"), ("refused", "refused"), ("lost", "gaps"),
            ] {
                table.add(name, answer.members[member]?.asInteger.map(String.init) ?? "unknown")
            }
            for replaced in answer.members["replaces"]?.asArray ?? [] {
                guard let id = replaced.asObject?["installationId"]?.asString else { continue }
                table.add("replaces", Printable.line(id) + loss(replaced.asObject?["lost"]))
            }
            return table
        }

        /// What a replaced board never sent, as far as it is known.
        private func loss(_ lost: JSONValue?) -> String {
            let lost = lost?.asObject
            let after = lost?["after"]?.asInteger.map { ", lost after number \($0)" }
            let waited = lost?["waited"]?.asInteger.map { ", \($0) messages waited" }
            return (after ?? "") + (waited ?? "")
        }
    }
}

extension BoardRow {
    /// When the session ends by itself, with the condition.
    func ends(_ times: TimeText) -> String {
        let idle = sessionEndCause == SessionOutlook.Cause.idle.rawValue
            ? "\(times.show(sessionEndsAt)), unless the board is heard before" : nil
        let fixed = sessionExpiresAt.map { times.show($0) }
        let ends = sessionWarning == nil ? [fixed, idle] : [idle ?? times.show(sessionEndsAt)]
        return ends.compactMap(\.self).first ?? "only when somebody ends it"
    }

    /// The next step for a board without a session. Nil while one lives.
    fileprivate var help: String? {
        if let renewal {
            return "turn the board on, or cancel with `postern boards end-claim \(renewal)`"
        }
        if isRenewable { return "`postern boards renew \(installation)`" }
        guard sessionEnd != nil || sessionState == nil else { return nil }
        return "pair it again: run `sudo postern-agent pair` on the board and scan the code"
    }
}
