import ArgumentParser
import Sessions
import Wire

extension ClaimsCommand {
    struct Accept: Verb {
        static let configuration = CommandConfiguration(
            commandName: "accept", abstract: "Accept boards that ask to join.",
            discussion: """
                First compare the fingerprint of each board with the one that the board shows in \
                `sudo postern-agent status` or in its log. The board takes its session within \
                seconds. With --all and --label the command shows the boards and asks. Exit \
                status: 0 all are accepted, 3 some are not, 1 none is, 2 no board asks.
                """)

        @OptionGroup var place: Place
        @Argument(help: ClaimsCommand.idHelp, completion: .preparedClaims)
        var claims: [String] = []
        @Flag(help: "All boards that ask to join.") var all = false
        @Option(help: ArgumentHelp(
            "All boards that ask to join by a claim with this label.", valueName: "label"))
        var label: String?
        @Flag(help: "Do not ask; for scripts.") var yes = false

        func validate() throws {
            guard [!claims.isEmpty, all, label != nil].filter(\.self).count == 1 else {
                throw ValidationError("name the claims, or give --all, or --label LABEL")
            }
            if let label { _ = try BoardsCommand.label(label) }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let chosen = try choose(try await client.preparedClaims(), surroundings)
            try await client.each(of: chosen, asJSON: place.json, surroundings) {
                (claim) throws(CommandFailure) in
                let answer = try await client.own(.post, "/prepared-claims/\(claim.id)/accept")
                let sent = try decoding { () throws(WireError) in
                    try ClaimRow(json: try answer.object("claim"))
                }
                return ("accepted, session \(sent.session)", sent.json)
            }
        }

        private func choose(
            _ rows: [PreparedClaimRow], _ surroundings: CommandEnvironment
        ) throws(CommandFailure) -> [PreparedClaimRow] {
            if !claims.isEmpty { return try rows.named(claims) }
            let wanted = label?.lowercased()
            let asking = rows.filter { row in
                row.isAsking && wanted.map(row.labels.contains) ?? true
            }
            guard !asking.isEmpty else {
                throw .usage((wanted.map { "no board asks to join by a claim with the label \($0)" }
                    ?? "no board asks to join") + "; start the boards and wait a minute")
            }
            if !yes { try confirm(asking, surroundings) }
            return asking
        }

        private func confirm(
            _ asking: [PreparedClaimRow], _ surroundings: CommandEnvironment
        ) throws(CommandFailure) {
            guard let ask = surroundings.ask else {
                throw .usage("there is no terminal to ask on; compare the fingerprints of "
                    + "`postern claims`, then give --yes")
            }
            let times = surroundings.times
            var table = TextTable("NAME", "FINGERPRINT", "STATE", "ASKED", "OWNER", "BOARD")
            for row in asking {
                table.add(
                    row.name, row.fingerprintWords, row.stateWords,
                    times.show(row.board?.askedAt), row.owner,
                    row.board?.installation.description ?? "-")
            }
            for line in table.lines(width: surroundings.width) { surroundings.note(line) }
            let count = asking.count == 1 ? "this board" : "these \(asking.count) boards"
            let answer = try ask("Accept \(count), if each shows the same fingerprint? [y/N] ")
            guard ["y", "yes"].contains(answer?.lowercased()) else {
                throw .usage("nothing was accepted; accept single boards by name, and end the "
                    + "claim of one whose fingerprint differs")
            }
        }
    }
}
