import ArgumentParser
import Sessions
import Wire

/// A claim that waits for its board, as the authority lists it.
struct OpenClaimRow: Sendable {
    let claim: ClaimRow
    let boardName: String
    let claimant: String
    let madeAt: Timestamp

    init(json: JSONObject) throws(WireError) {
        claim = try ClaimRow(json: json)
        boardName = try json.string("name")
        claimant = try json.string("claimant")
        madeAt = try json.time("createdAt")
    }

    var json: JSONValue {
        .object((claim.json.asObject ?? [:]).merging([
            "name": .string(boardName), "claimant": .string(claimant), "createdAt": .time(madeAt),
        ]) { $1 })
    }
}

extension BoardsCommand {
    struct Claims: Verb {
        static let configuration = CommandConfiguration(
            commandName: "claims",
            abstract: "List your open claims, and all open claims of your boards.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's open claims; for administrators.") var everyone = false

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let answer = try await client.own(.get, "/claims" + (everyone ? "?everyone=true" : ""))
            let claims = try results(in: answer, OpenClaimRow.init(json:))
            if place.json { return surroundings.emit(.array(claims.map(\.json))) }
            guard !claims.isEmpty else { return surroundings.note("no open claims") }
            let times = surroundings.times
            var table = TextTable("CLAIM", "KIND", "NAME", "BY", "MADE", "ENDS", "BOARD")
            for row in claims {
                table.add(
                    row.claim.id.description, row.claim.isRenewal ? "renewal" : "claim",
                    row.boardName, row.claimant, times.show(row.madeAt),
                    times.show(row.claim.expiresAt), row.claim.installation.description)
            }
            surroundings.show(table)
        }
    }

    struct EndClaim: Verb {
        static let configuration = CommandConfiguration(
            commandName: "end-claim", abstract: "Cancel an open claim.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp(
            "The claim's id, as `postern boards claims` shows it.", valueName: "claim"))
        var claim: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            guard let id = MessageID(claim) else {
                throw .usage("a claim's id is a UUID in lower case, as `postern boards claims` "
                    + "shows it")
            }
            let client = try place.login(in: surroundings).client
            let told = BrokerDelivery(try await client.own(.delete, "/claims/\(id)"))
            told.report(
                "ended claim \(id)", "claimId", id.description, asJSON: place.json,
                in: surroundings)
        }
    }

    struct ForgetRevocation: Verb {
        static let configuration = CommandConfiguration(
            commandName: "forget-revocation",
            abstract: "Stop waiting for a board's answer to a revocation.",
            discussion: """
                A revoked board keeps its broker login until it has answered, so that it can \
                receive the revocation. Use this command for a board that has lost its login: \
                the next claim then gives it a new one.
                """)

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            let told = BrokerDelivery(
                try await client.own(.delete, "/boards/\(board.id)/revocation"))
            told.report(
                "no longer waiting for \(board)", "installationId", board.id.description,
                asJSON: place.json, in: surroundings)
        }
    }
}
