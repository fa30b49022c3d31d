import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Renew: Verb {
        static let configuration = CommandConfiguration(
            commandName: "renew", abstract: "Give a board whose session expired a new one.",
            discussion: """
                The board gets a session of the same user, with the same scope, and sends what it \
                held. Nobody has to be there. If the board is away, the renewal waits for it, 30 \
                days at most. With --label the command does not wait for the boards.
                """)

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String?
        @Option(help: ArgumentHelp("How long the session lasts, such as 30d.", valueName: "span"))
        var duration: Span?
        @Option(help: ArgumentHelp(
            "How long to wait for the board; 20s if not given.", valueName: "span"))
        var wait: Span?
        private var patience: Span { wait ?? Span(seconds: 20) }

        func validate() throws {
            try group.check(board, "a board")
            guard group.label == nil || wait == nil else {
                throw ValidationError("with --label the command does not wait")
            }
            let allowed = LifetimePolicy.shortest...LifetimePolicy.longest
            if let duration, !allowed.contains(duration.duration) {
                throw ValidationError("a session lasts from 5 minutes to 1 year")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let order = duration.map { ["durationMinutes": JSONValue.integer($0.seconds / 60)] }
                ?? [:]
            if let label = group.label {
                let boards = try await client.group(label)
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    (board) throws(CommandFailure) in
                    let claim = try await renew(board.installation, order, client)
                    return ("the renewal is sent", claim.json)
                }
            }
            let board = try await client.board(named: board ?? "")
            let sent = try await renew(board.id, order, client)
            surroundings.step(true, "the renewal is sent to \(board)")
            let last = try await client.follow(sent, for: patience.duration)
            surroundings.step(last.state == .accepted, "taken by the board")
            if place.json { surroundings.emit(last.json) }
            guard last.state == .accepted else { throw failure(last, surroundings) }
            let answer = try await client.own(.get, "/sessions/\(last.session)")
            let row = try decoding { () throws(WireError) in try SessionRow(json: answer) }
            let ends = surroundings.times.show(row.endsAt)
            let heard = row.endCause == .idle ? ", unless the board is heard before" : ""
            surroundings.step(
                row.state == "active", "session \(last.session) available; it ends \(ends)\(heard)")
        }

        private func renew(
            _ board: InstallationID, _ members: [String: JSONValue], _ client: AuthorityClient
        ) async throws(CommandFailure) -> ClaimRow {
            do throws(CommandFailure) {
                return try ClaimRow(
                    answer: try await client.own(.post, "/boards/\(board)/renew", members))
            } catch {
                guard case .refused(let refusal) = error,
                    refusal.name?.description == "not-renewable"
                else { throw error }
                throw .usage(Printable.line(refusal.text))
            }
        }

        private func failure(
            _ claim: ClaimRow, _ surroundings: CommandEnvironment
        ) -> CommandFailure {
            switch claim.state {
            case .sent, .accepted:
                .offline(
                    layer: "board", text: "the board has not answered in "
                        + "\(TimeText.span(patience.seconds)); it takes the renewal when it is "
                        + "online, until \(surroundings.times.show(claim.expiresAt)); "
                        + "cancel it with "
                        + "`postern boards end-claim \(claim.id)`")
            case .rejected:
                .failed(
                    layer: "board", text: "the board rejected the renewal: "
                        + (claim.reason.map { Printable.line($0.text) } ?? "no reason"))
            case .expired: .failed(layer: "board", text: "the renewal expired without an answer")
            case .cancelled: .failed(layer: "authority", text: "the renewal was cancelled")
            }
        }
    }
}
