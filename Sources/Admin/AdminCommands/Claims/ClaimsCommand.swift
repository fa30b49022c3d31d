import ArgumentParser
import Sessions
import Wire

/// `postern claims`: claims that are prepared before their boards start.
struct ClaimsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims",
        abstract: "Prepare claims for boards that have not started yet, and accept those boards.",
        subcommands: [Prepare.self, List.self, Accept.self, End.self],
        defaultSubcommand: List.self)

    static let idHelp = ArgumentHelp(
        "A prepared claim: its name, its id, or a unique beginning of the id.", valueName: "claim")

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your prepared claims, and the boards that ask.",
            discussion: """
                A board that asks to join shows its fingerprint in `sudo postern-agent status` and \
                in its log. Compare the two before you accept it. Administrators see everyone's.
                """)

        @OptionGroup var place: Place

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let claims = try await client.preparedClaims()
            if place.json { return surroundings.emit(.array(claims.map(\.json))) }
            guard !claims.isEmpty else { return surroundings.note("no prepared claims") }
            let times = surroundings.times
            var table = TextTable(
                "NAME", "STATE", "FINGERPRINT", "ASKED", "PREPARED", "ENDS", "OWNER", "LABELS",
                "CLAIM")
            for row in claims {
                table.add(
                    row.name, row.stateWords, row.fingerprintWords,
                    times.show(row.board?.askedAt, empty: "-"), times.show(row.createdAt),
                    times.show(row.expiresAt), row.owner, row.labels.joined(separator: ", "),
                    row.id.description)
            }
            surroundings.show(table)
            for row in claims where row.secondAt != nil {
                surroundings.note("\(row.words): a second board came with this file at "
                    + "\(times.show(row.secondAt)); " + (row.isAsking
                        ? "end the claim, and prepare another" : "the accepted board stays"))
            }
        }
    }

    struct End: Verb {
        static let configuration = CommandConfiguration(
            commandName: "end", abstract: "End prepared claims: their files serve no more.",
            discussion: "A board that was accepted keeps its session.")

        @OptionGroup var place: Place
        @Argument(help: ClaimsCommand.idHelp, completion: .preparedClaims) var claims: [String]

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let chosen = try await client.preparedClaims().named(claims)
            try await client.each(of: chosen, asJSON: place.json, surroundings) {
                (claim) throws(CommandFailure) in
                let told = BrokerDelivery(
                    try await client.own(.delete, "/prepared-claims/\(claim.id)"))
                return ("ended\(told.words)", .object(["brokerTold": told.json]))
            }
        }
    }
}

extension AuthorityClient {
    /// All prepared claims that the user may see.
    func preparedClaims() async throws(CommandFailure) -> [PreparedClaimRow] {
        try Self.preparedClaims(in: try await own(.get, "/prepared-claims"))
    }

    static func preparedClaims(
        in answer: JSONObject
    ) throws(CommandFailure) -> [PreparedClaimRow] {
        try decoding { () throws(WireError) in
            try answer.objects("claims").map { json throws(WireError) in
                try PreparedClaimRow(json: json)
            }
        }
    }
}

extension JSONObject {
    /// A member that is an array of objects.
    func objects(_ name: String) throws(WireError) -> [JSONObject] {
        try required(name) { value in
            guard let values = value.asArray else { return nil }
            let objects = values.compactMap { $0.asObject.map(JSONObject.init) }
            return objects.count == values.count ? objects : nil
        }
    }
}
