import ArgumentParser
import LinuxIO
import Sessions
import Wire

extension ClaimsCommand {
    struct Prepare: Verb {
        static let configuration = CommandConfiguration(
            commandName: "prepare",
            abstract: "Write files with which new boards ask to join by themselves.",
            discussion: """
                Put one file on each card, as postern-claim on its boot partition or as \
                /etc/postern/claim. At its first start the board takes the file, erases it, and \
                asks to join. `postern claims accept` then gives it its session. Each file is for \
                one board and holds a secret: a person who has it can ask in that board's place.
                """)

        @OptionGroup var place: Place
        @Option(help: ArgumentHelp("How many claims, 1 to 100.", valueName: "n")) var count = 1
        @Option(
            help: ArgumentHelp(
                "The folder for the files, one for each claim. It is made if it is missing.",
                valueName: "folder"),
            completion: .directory)
        var out: String
        @Option(help: ArgumentHelp(
            "The boards' names, with {n} for the number; board-{n} if not given.",
            valueName: "name"))
        var name: String?
        @Option(
            help: ArgumentHelp(
                "A JSON file with the scope of the sessions: what the boards may do.",
                discussion: "Without it, everything that a restricted session may.",
                valueName: "file"),
            completion: .file())
        var scope: String?
        @Option(help: ArgumentHelp(
            "Until when a board may ask: a span from 1h to 365d; 30d if not given.",
            valueName: "span"))
        var expires: Span?
        @Option(help: ArgumentHelp(
            "A label for the boards; may be repeated.", valueName: "label"))
        var label: [String] = []
        @Flag(help: ArgumentHelp(
            "Give the first board that comes with a file its session, without a person.",
            discussion: "The first board with the file gets the session, also a thief's board."))
        var autoAccept = false
        @Option(help: ArgumentHelp(
            "The broker's address for the boards, if it is another than the authority tells.",
            valueName: "uri"))
        var broker: String?
        @Option(
            help: ArgumentHelp(
                "The CA certificates (PEM) by which the boards trust that broker.",
                valueName: "file"),
            completion: .file())
        var brokerCaFile: String?

        private static let lives: ClosedRange<Int64> = 3600...(365 * 86_400)
        private static let certificates = 8 * 1024
        private var pattern: String { name ?? "board-{n}" }

        func validate() throws {
            guard (1...100).contains(count) else { throw ValidationError("--count is 1 to 100") }
            if let expires, !Self.lives.contains(expires.seconds) {
                throw ValidationError("--expires is from 1h to 365d")
            }
            let parts = pattern.split(separator: "{n}", omittingEmptySubsequences: false).count
            guard parts == 2 || count == 1 && parts == 1 else {
                throw ValidationError("--name needs {n} once, for the number of the board")
            }
            guard ClaimFileName(pattern) != nil else {
                throw ValidationError("--name is the name of a file, too: use no '/', and no '.' "
                    + "at its beginning")
            }
            for label in label { _ = try BoardsCommand.label(label) }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let order = try order(surroundings)
            let client = try place.login(in: surroundings).client
            let folder = try ClaimFolder(out)
            try folder.check(names)
            let made = try await make(order, by: client)
            var written: [JSONValue] = []
            for (index, claim) in made.enumerated() {
                do throws(CommandFailure) {
                    let path = try folder.write(claim)
                    surroundings.step(true, "\(Printable.line(claim.row.name)): \(path)")
                    written.append(claim.json(path: path))
                } catch {
                    surroundings.step(
                        false, "\(Printable.line(claim.row.name)): \(error.sentence)")
                    await end(made[index...], client, surroundings)
                    if place.json { surroundings.emit(.array(written)) }
                    throw error
                }
            }
            if place.json { surroundings.emit(.array(written)) }
            if let row = made.first?.row { explain(row, surroundings) }
        }

        private func make(
            _ order: [String: JSONValue], by client: AuthorityClient
        ) async throws(CommandFailure) -> [MadeClaim] {
            do throws(CommandFailure) {
                let answer = try await client.own(.post, "/prepared-claims", order)
                return try decoding { () throws(WireError) in
                    try answer.objects("claims").map(MadeClaim.init(json:))
                }
            } catch {
                throw error.afterPreparing
            }
        }

        private func explain(_ row: PreparedClaimRow, _ surroundings: CommandEnvironment) {
            surroundings.note("copy one file to each card: as postern-claim on its boot partition, "
                + "or as /etc/postern/claim; a board can ask until "
                + surroundings.times.local(row.expiresAt))
            surroundings.note("delete each file here once it is copied: it holds a secret")
            guard !autoAccept else { return }
            surroundings.note("then `postern claims` shows the boards that ask, and "
                + "`postern claims accept` lets them in")
        }

        /// The names as the authority will count them, to find files that are there already.
        private var names: [String] {
            (1...count).map { pattern.split(
                separator: "{n}", maxSplits: 1, omittingEmptySubsequences: false
            ).joined(separator: String($0)) }
        }

        /// Ends the claims whose files were not written, because nobody could use them.
        private func end(
            _ claims: ArraySlice<MadeClaim>, _ client: AuthorityClient,
            _ surroundings: CommandEnvironment
        ) async {
            for claim in claims {
                let name = Printable.line(claim.row.name)
                do throws(CommandFailure) {
                    _ = try await client.own(.delete, "/prepared-claims/\(claim.row.id)")
                    surroundings.note("\(name): has no file, so the claim is ended")
                } catch {
                    surroundings.note("\(name): has no file, and is not ended: \(error.sentence)")
                }
            }
        }

        private func order(
            _ surroundings: CommandEnvironment
        ) throws(CommandFailure) -> [String: JSONValue] {
            var order: [String: JSONValue] = [
                "count": .integer(Int64(count)), "name": .string(pattern),
                "autoAccept": .bool(autoAccept),
            ]
            if let scope { order["scope"] = try ScopeFile(scope, in: surroundings).document.json }
            if let expires { order["expiresSeconds"] = .integer(expires.seconds) }
            if !label.isEmpty {
                order["labels"] = .array(label.map { .string($0.lowercased()) })
            }
            if let broker { order["broker"] = .string(broker) }
            if let brokerCaFile {
                do throws(FileFailure) {
                    let bytes = try PrivateFile.read(
                        brokerCaFile, limit: Self.certificates, strictestMode: 0o755,
                        followsLinks: true)
                    order["ca"] = .string(String(decoding: bytes, as: UTF8.self))
                } catch {
                    throw .configuration(error.description)
                }
            }
            return order
        }
    }
}

extension CommandFailure {
    /// The failure of a request to prepare claims. If the request may have reached the authority,
    /// the claims may exist, but their files are lost with the answer.
    var afterPreparing: CommandFailure {
        let advice = "; claims may have been made without files; see `postern claims`, and end "
            + "them by `postern claims end NAME`"
        return switch self {
        case .offline(let layer, let text) where ["HTTP", "authority"].contains(layer):
            .offline(layer: layer, text: text + advice)
        case .failed(let layer, let text): .failed(layer: layer, text: text + advice)
        default: self
        }
    }
}
