import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern claim`: provisions a board, with the claim URL that it shows.
struct ClaimCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "claim", abstract: "Give a board its session.",
        discussion: """
            The board's QR code contains the claim URL. The URL holds a secret that works once. \
            While the command runs, other users of this machine can read command lines. On a \
            shared machine give - and paste the URL, or send it through a pipe.
            """)

    @OptionGroup var place: Place
    @Argument(help: ArgumentHelp(
        "The board's claim URL, in quotes; - reads it from standard input.",
        valueName: "claim-url"))
    var url: String

    @Option(help: ArgumentHelp(
        "How long the session lasts, such as 30d. Without it, as long as the authority allows.",
        valueName: "span"))
    var duration: Span?

    @Option(help: ArgumentHelp(
        "A JSON file with the session's scope: what it may do on its board.",
        discussion: "Without it, everything that a restricted session may.", valueName: "file"))
    var scope: String?

    @Option(help: ArgumentHelp(
        "A file with the session's tokens, if another program made them.",
        discussion: """
            JSON with sessionToken, optional accessToken and custom fields; or only a session \
            token.
            """,
        valueName: "file"))
    var sessionFile: String?

    @Option(help: ArgumentHelp("How long to wait for the board.", valueName: "span"))
    var wait = Span(seconds: 60)

    /// A board that waits for its claim usually opens it within this time.
    private static let usualWait = Duration.seconds(4)

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let claim = try readURL(surroundings)
        let order = try order(claim, surroundings)
        let client = try place.login(in: surroundings).client
        surroundings.step(
            true, "parsed: board \(Printable.line(claim.name)) \(claim.installation)")
        let sent: ClaimRow
        do throws(CommandFailure) {
            sent = try ClaimRow(answer: try await client.own(.post, "/claims", order))
        } catch {
            surroundings.step(false, "sealed and sent")
            throw error
        }
        surroundings.step(true, "sealed and sent: session \(sent.session)")
        for note in sent.notes { surroundings.note("note: \(Printable.line(note))") }
        var last = try await client.follow(sent, for: wait.duration, late: Self.usualWait) {
            surroundings.note("waiting for the board: it asks its broker every 3 s, and every 10 s "
                + "if it showed its code more than 10 min ago")
        }
        if last.notes.isEmpty { last.notes = sent.notes }
        try await conclude(last, client, surroundings)
    }

    private func readURL(_ surroundings: CommandEnvironment) throws(CommandFailure) -> ClaimURL {
        var text = url
        if url == "-" {
            guard let bytes = try surroundings.input(8192) else {
                throw .usage(ClaimURL.words(for: .tooLarge(limit: 8192)))
            }
            text = String(decoding: bytes, as: UTF8.self)
        }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        do throws(WireError) {
            return try ClaimURL(text)
        } catch {
            throw .usage(ClaimURL.words(for: error))
        }
    }

    private func order(
        _ claim: ClaimURL, _ surroundings: CommandEnvironment
    ) throws(CommandFailure) -> [String: JSONValue] {
        var order: [String: JSONValue] = ["url": .string(claim.reveal())]
        if let duration { order["durationSeconds"] = .integer(duration.seconds) }
        if let sessionFile {
            order["session"] = .object(try SessionFile(sessionFile, in: surroundings).members)
        }
        if let scope { order["scope"] = try ScopeFile(scope, in: surroundings).document.json }
        return order
    }

    private func conclude(
        _ claim: ClaimRow, _ client: AuthorityClient, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) {
        surroundings.step(claim.state == .accepted, "opened by the board")
        if claim.state == .accepted {
            let answer = try await client.own(.get, "/sessions/\(claim.session)")
            let row = try decoding { () throws(WireError) in try SessionRow(json: answer) }
            let end = try await whenItEnds(row, client, surroundings)
            surroundings.step(row.state == "active", "session available; it ends \(end)")
            surroundings.note("next: a program on the board writes, and `postern watch` shows what "
                + "arrives; `sudo postern-agent-app add NAME` on the board makes its login")
        }
        if place.json {
            surroundings.emit(claim.json)
        } else if claim.state == .accepted {
            surroundings.out(claim.session.description)
        }
        let until = surroundings.times.show(claim.expiresAt)
        switch claim.state {
        case .accepted: return
        case .sent:
            throw .offline(
                layer: "board", text: "the board has not answered in "
                    + "\(TimeText.span(wait.seconds)); the claim stays open until \(until). "
                    + "On the board, `sudo postern-agent doctor` says what is wrong")
        case .rejected:
            let reason = claim.reason.map { "\(Printable.line($0.text)) (\($0.code))" }
            throw .failed(
                layer: "board", text: "the board rejected the claim: \(reason ?? "no reason")")
        case .expired: throw .failed(layer: "board", text: "the claim expired without an answer")
        case .cancelled: throw .failed(layer: "authority", text: "the claim was cancelled")
        }
    }

    /// When the session ends: at a known time, some time after the board was last heard, or both.
    private func whenItEnds(
        _ row: SessionRow, _ client: AuthorityClient, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> String {
        let info = try await client.own(.get, "/info")
        let idle = info.members["idleSessionSeconds"]?.asInteger.map {
            "\(Duration.seconds($0).words) after the board was last heard"
        }
        let end = row.session.expiresAt.map { surroundings.times.show($0) }
        let ends = [end, idle].compactMap(\.self)
        return ends.isEmpty ? "only when somebody ends it" : ends.joined(separator: ", or ")
    }
}

extension AuthorityClient {
    /// Asks every half second until the board has answered or the wait has ended. If the authority
    /// cannot be reached, it keeps asking.
    ///
    /// Calls `explain` once if the authority says after `late` that the board has not answered.
    func follow(
        _ claim: ClaimRow, for wait: Duration, late: Duration? = nil,
        explain: () -> Void = {}
    ) async throws(CommandFailure) -> ClaimRow {
        let begun = SystemClock.monotonic
        let deadline = begun + wait
        var explainAt = late.map { begun + $0 }
        var last = claim
        while last.state == .sent, SystemClock.monotonic < deadline {
            do {
                try await Task.sleep(for: .milliseconds(500))
            } catch {
                break
            }
            do throws(CommandFailure) {
                last = try ClaimRow(answer: try await own(.get, "/claims/\(claim.id)"))
            } catch {
                guard case .offline = error else { throw error }
            }
            // Only after asking: on a slow machine the board may have answered long before.
            if last.state == .sent, let due = explainAt, SystemClock.monotonic > due {
                explainAt = nil
                explain()
            }
        }
        return last
    }
}
