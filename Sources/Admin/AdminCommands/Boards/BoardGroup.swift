import ArgumentParser
import Sessions
import Wire

/// The option that replaces one board by all boards of a label.
struct BoardGroup: ParsableArguments {
    @Option(help: ArgumentHelp(
        "All your boards with this label, one after the other, in place of one.",
        valueName: "label"))
    var label: String?

    func validate() throws {
        if let label { _ = try BoardsCommand.label(label) }
    }

    /// Whether `given` and the label are not both there, and not both absent.
    func check(_ given: String?, _ what: String) throws(ValidationError) {
        guard (given == nil) != (label == nil) else {
            throw ValidationError("give either \(what) or --label LABEL")
        }
    }
}

extension AuthorityClient {
    /// Does `act` for each of the user's boards with the label, in the order of their names. It
    /// prints the result of each board at once, and goes on after a refusal. If the authority does
    /// not answer, it stops and names the boards that were not tried.
    ///
    /// `act` returns what was done, in words and as the member `result`.
    func each(
        in group: String, asJSON: Bool, _ surroundings: CommandEnvironment,
        _ act: (_ board: BoardRow, _ number: Int) async throws(CommandFailure)
            -> (words: String, result: JSONValue)
    ) async throws(CommandFailure) {
        let boards = try await boards(everyone: false, label: group, search: nil)
        guard !boards.isEmpty else {
            throw .usage("you have no board with the label \(Printable.line(group.lowercased()))")
        }
        var outcomes: [JSONValue] = []
        var failed = 0, stopped: CommandFailure?
        for (index, board) in boards.enumerated() {
            var outcome: [String: JSONValue] = [
                "installationId": .string(board.installation.description),
                "name": .string(board.name), "done": .bool(false),
            ]
            do throws(CommandFailure) {
                if let stopped { throw stopped }
                let (words, result) = try await act(board, index + 1)
                surroundings.step(true, "\(board.words): \(words)")
                outcome["done"] = .bool(true)
                outcome["result"] = result
            } catch {
                failed += 1
                let text = stopped == nil ? error.sentence : "not tried"
                surroundings.step(false, "\(board.words): \(text)")
                outcome["error"] = .string(text)
                if error.stopsGroup { stopped = error }
            }
            outcomes.append(.object(outcome))
        }
        if asJSON { surroundings.emit(.array(outcomes)) }
        if let stopped { throw stopped }
        if failed > 0 {
            throw .failed(layer: "boards", text: "\(failed) of \(boards.count) not done")
        }
    }
}

extension BoardRow {
    /// The board in the line of its result.
    var words: String { "\(Printable.line(name)) (\(installation.description.prefix(8)))" }

    /// The living session, or a failure.
    func living() throws(CommandFailure) -> ObjectID {
        guard let session, ["active", "pending"].contains(sessionState ?? "") else {
            throw .failed(layer: "session", text: "the board has none")
        }
        return session
    }
}

extension CommandFailure {
    /// Whether the next board would fail in the same way.
    fileprivate var stopsGroup: Bool {
        switch self {
        case .offline, .notLoggedIn, .configuration: true
        case .refused(let refusal):
            refusal.is(.invalidSession) || refusal.is(.sessionMissing) || refusal.is(.rateLimit)
        case .usage, .degraded, .failed: false
        }
    }
}
