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

    /// Throws unless exactly one of `given` and the label is there.
    func check(_ given: String?, _ what: String) throws(ValidationError) {
        guard (given == nil) != (label == nil) else {
            throw ValidationError("give either \(what) or --label LABEL")
        }
    }
}

extension AuthorityClient {
    /// The user's own boards with the label, in the order of their names. Throws if there are none.
    func group(_ label: String) async throws(CommandFailure) -> [BoardRow] {
        let boards = try await boards(everyone: false, label: label, search: nil)
        guard !boards.isEmpty else {
            throw .usage("you have no board with the label \(Printable.line(label.lowercased()))")
        }
        return boards
    }

    /// Does `act` for each thing of a group. It prints the result of each at once, and goes on
    /// after a refusal. If the authority does not answer, or after ^C, it stops and names what was
    /// not tried. Throws `degraded` if some were not done, and `failed` if none was.
    ///
    /// `act` returns what was done, in words and as the member `result`.
    func each<Member: GroupMember>(
        of group: [Member], asJSON: Bool, _ surroundings: CommandEnvironment,
        _ act: @escaping @Sendable (Member) async throws(CommandFailure) -> (String, JSONValue)
    ) async throws(CommandFailure) {
        let interrupt = surroundings.takeInterrupt?()
        let work = Task { await Self.tried(group, surroundings, act) }
        let watch = Task {
            guard let interrupt else { return }
            await interrupt()
            if !Task.isCancelled { work.cancel() }
        }
        let (outcomes, done, stopped) = await work.value
        watch.cancel()
        if asJSON { surroundings.emit(.array(outcomes)) }
        if let stopped {
            let isPart = done > 0 && stopped.exitStatus == .failed
            throw isPart ? .degraded(stopped.sentence) : stopped
        }
        guard done < group.count else { return }
        let words = "\(group.count - done) of \(group.count) not done"
        throw done > 0 ? .degraded(words) : .failed(layer: Member.plural, text: words)
    }

    private static func tried<Member: GroupMember>(
        _ group: [Member], _ surroundings: CommandEnvironment,
        _ act: @Sendable (Member) async throws(CommandFailure) -> (String, JSONValue)
    ) async -> (outcomes: [JSONValue], done: Int, stopped: CommandFailure?) {
        var outcomes: [JSONValue] = []
        var done = 0, stopped: CommandFailure?
        for member in group {
            var outcome = member.members
            outcome["done"] = .bool(false)
            if Task.isCancelled, stopped == nil { stopped = .interrupted }
            do throws(CommandFailure) {
                if let stopped { throw stopped }
                let (words, result) = try await act(member)
                done += 1
                surroundings.step(true, "\(member.words): \(words)")
                outcome["done"] = .bool(true)
                outcome["result"] = result
            } catch {
                let isUnderWay = error == .interrupted && stopped == nil
                let text = isUnderWay ? "interrupted; it may have been done"
                    : stopped == nil ? error.sentence : "not tried"
                surroundings.step(false, "\(member.words): \(text)")
                outcome["error"] = .string(text)
                if error.stopsGroup { stopped = error }
            }
            outcomes.append(.object(outcome))
        }
        return (outcomes, done, stopped)
    }
}

/// One of several things that get the same act.
protocol GroupMember: Sendable {
    /// The thing in the line of its result.
    var words: String { get }
    /// The members of the JSON that say which thing it is.
    var members: [String: JSONValue] { get }
    /// What several such things are called.
    static var plural: String { get }
}

extension BoardRow: GroupMember {
    static let plural = "boards"

    var words: String { "\(Printable.line(name)) (\(installation.description.prefix(8)))" }

    var members: [String: JSONValue] {
        ["installationId": .string(installation.description), "name": .string(name)]
    }

    /// The living session, or a failure.
    func living() throws(CommandFailure) -> ObjectID {
        guard let session, sessionState == "active" else {
            throw .failed(layer: "session", text: "the board has no active session")
        }
        return session
    }
}

extension CommandFailure {
    /// Whether the next board would fail in the same way.
    fileprivate var stopsGroup: Bool {
        switch self {
        case .offline, .notLoggedIn, .configuration, .interrupted: true
        case .refused(let refusal):
            refusal.is(.invalidSession) || refusal.is(.sessionMissing) || refusal.is(.rateLimit)
        case .usage, .degraded, .failed: false
        }
    }
}

/// The numbered names of a group. A name that fits the pattern stays, so that the same command may
/// run again, also after it stopped half-way.
struct GroupNames {
    private let pattern: [Substring]
    private var taken: Set<Int>
    private var last = 0

    /// `pattern` has one `{n}`.
    init(pattern: String, taken names: [String]) {
        self.pattern = pattern.split(
            separator: "{n}", maxSplits: 1, omittingEmptySubsequences: false)
        taken = []
        taken = Set(names.compactMap { number(in: $0) })
    }

    /// Nil if the name fits already.
    mutating func name(insteadOf name: String) -> String? {
        guard number(in: name) == nil else { return nil }
        repeat { last += 1 } while taken.contains(last)
        return pattern.joined(separator: String(last))
    }

    private func number(in name: String) -> Int? {
        guard let before = pattern.first, let after = pattern.last, name.hasPrefix(before),
            name.hasSuffix(after), name.count > before.count + after.count
        else { return nil }
        let digits = name.dropFirst(before.count).dropLast(after.count)
        guard let number = Int(digits), String(number) == digits, number > 0 else { return nil }
        return number
    }
}
