import ArgumentParser
import Sessions
import Wire

extension SessionsCommand {
    struct Extend: Verb {
        static let configuration = CommandConfiguration(
            commandName: "extend", abstract: "Set how long from now a session lasts.",
            discussion: """
                From 5 minutes to 1 year, and never past the limit that was set when the \
                session was made. An end that is earlier than the present one needs --shorten. \
                The authority notifies the session's board. With --label, give only the span.
                """)

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: SessionsCommand.sessionHelp, completion: .sessions) var id: String?
        @Argument(help: ArgumentHelp("How long from now, such as 30d.", valueName: "span"))
        var span: Span?
        @Flag(help: "Also set an end that is earlier than the present one.") var shorten = false

        /// The span is the first argument after `--label`, else the second.
        private var wanted: Span? {
            group.label == nil ? span : span == nil ? id.flatMap(Span.init(argument:)) : nil
        }

        func validate() throws {
            guard let wanted else {
                throw ValidationError("give a session and a span, or --label LABEL and a span")
            }
            let allowed = LifetimePolicy.shortest...LifetimePolicy.longest
            guard allowed.contains(wanted.duration) else {
                throw ValidationError("a session lasts from 5 minutes to 1 year")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let times = surroundings.times
            if let label = group.label {
                let boards = try await client.group(label)
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    (board) throws(CommandFailure) in
                    let row = try await extend(try board.living(), client)
                    return ("now ends at \(times.show(row.session.expiresAt))", row.json)
                }
            }
            let session = try await client.session(named: id ?? "")
            let row = try await extend(session.session.objectID, client)
            let end = times.show(row.session.expiresAt)
            surroundings.step(true, "\(session.words) now ends at \(end)")
            if place.json { surroundings.emit(row.json) }
        }

        private func extend(
            _ session: ObjectID, _ client: AuthorityClient
        ) async throws(CommandFailure) -> SessionRow {
            var members: [String: JSONValue] = ["durationSeconds": .integer(wanted?.seconds ?? 0)]
            if shorten { members["shorten"] = .bool(true) }
            let answer: JSONObject
            do throws(CommandFailure) {
                answer = try await client.own(.post, "/sessions/\(session)/extend", members)
            } catch {
                throw Self.explained(error)
            }
            return try decoding { () throws(WireError) in try SessionRow(json: answer) }
        }

        /// A refused span is wrong usage: the text says which one is right.
        private static func explained(_ failure: CommandFailure) -> CommandFailure {
            guard case .refused(let refusal) = failure else { return failure }
            let text = Printable.line(refusal.text)
            return switch refusal.name?.description {
            case "would-shorten": .usage("\(text); --shorten does it")
            case "duration-out-of-range": .usage(text)
            default: failure
            }
        }
    }

    struct Rename: Verb {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Give a session a name; an empty one removes it.")

        @OptionGroup var place: Place
        @Argument(help: SessionsCommand.sessionHelp, completion: .sessions) var id: String
        @Argument(help: "The new name, at most 64 characters.") var name: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let session = try await client.session(named: id)
            let answer = try await client.own(
                .put, "/sessions/\(session.session.objectID)", ["name": .string(name)])
            let row = try decoding { () throws(WireError) in try SessionRow(json: answer) }
            let shown = row.session.custom["name"]?.asString.map(Printable.line)
            surroundings.step(
                true, session.words + (shown.map { " is now named \($0)" } ?? " has no name now"))
            if place.json { surroundings.emit(row.json) }
        }
    }

    struct Revoke: Verb {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "End a session, those of a label's boards, or all of a user.")

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: SessionsCommand.sessionHelp, completion: .sessions) var id: String?
        @Option(help: ArgumentHelp(
            "All sessions of this user, on boards too, except the one of this command.",
            discussion: "Your own name; administrators can give any user.", valueName: "user"),
            completion: .users)
        var allOf: String?

        func validate() throws {
            guard [id, allOf, group.label].compactMap(\.self).count == 1 else {
                throw ValidationError("give a session, --label LABEL or --all-of USER")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            if let allOf { return try await revokeAll(of: allOf, in: surroundings) }
            let client = try place.login(in: surroundings).client
            if let label = group.label {
                let boards = try await client.group(label)
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    (board) throws(CommandFailure) in
                    let session = try board.living()
                    let told = BrokerDelivery(try await client.own(.delete, "/sessions/\(session)"))
                    return ("revoked\(told.words)", Self.revoked(session, told))
                }
            }
            let session = try await client.session(named: id ?? "")
            let objectID = session.session.objectID
            let told = BrokerDelivery(try await client.own(.delete, "/sessions/\(objectID)"))
            surroundings.step(true, "revoked \(session.words)\(told.words)")
            if place.json { surroundings.emit(Self.revoked(objectID, told)) }
        }

        private static func revoked(_ session: ObjectID, _ told: BrokerDelivery) -> JSONValue {
            .object([
                "objectId": .string(session.description), "state": .string("revoked"),
                "brokerTold": told.json,
            ])
        }

        private func revokeAll(
            of named: String, in surroundings: CommandEnvironment
        ) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let user = try await client.username(named: named)
            let answer = try await client.own(
                .post, "/users/\(PercentEncoding.encode(user))/revoke")
            let ended = try decoding { () throws(WireError) in try answer.integer("ended") }
            let name = Printable.line(user)
            let words = switch ended {
            case 0: "nothing to end: \(name) has no other session"
            case 1: "ended 1 session of \(name)"
            default: "ended \(ended) sessions of \(name)"
            }
            surroundings.step(true, words)
            if place.json {
                surroundings.emit(.object([
                    "username": .string(user), "ended": .integer(ended),
                ]))
            }
        }
    }
}
