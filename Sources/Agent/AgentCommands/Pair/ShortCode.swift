import AgentCore
import AgentService
import LinuxIO
import Sessions
import Wire

/// A code that a person types at the authority's claim page, in place of scanning the QR code. The
/// person at this terminal confirms who typed it. Only then the claim secret leaves the board.
///
/// Source: the wire contract, The short code; RFC 8628 in shape.
struct ShortCode {
    private let url: ClaimURL
    private let page: AuthorityPage
    private let code: String
    /// With this secret the authority answers about the code.
    private let poll: String
    private let end: Duration
    private let interval: Duration

    /// Asks the authority for a code. The request holds only what is public.
    init(of url: ClaimURL, at page: AuthorityPage) throws(AuthorityPage.Failure) {
        let answer = try page.post("/claim-codes", [
            "installationId": .string(url.installation.description),
            "deviceKey": .string(Base64URL.encode(url.deviceKey)), "name": .string(url.name),
        ])
        do throws(WireError) {
            code = try answer.parsed("code", Self.shown)
            poll = try answer.parsed("poll") { Base64URL.decode($0)?.count == 32 ? $0 : nil }
            end = SystemClock.monotonic + (try answer.seconds("expiresIn", atMost: 3600))
            interval = try answer.seconds("interval", atMost: 60)
        } catch {
            throw .noAnswer("its answer cannot be read: \(error)")
        }
        self.url = url
        self.page = page
    }

    /// Asks again while the authority has no room for a code; for ten minutes, because room comes
    /// with the end of other codes. Nil: somebody claimed the board meanwhile.
    static func patient(
        for url: ClaimURL, at page: AuthorityPage, _ board: ClaimWatch
    ) throws(AuthorityPage.Failure) -> ShortCode? {
        let end = SystemClock.monotonic + .seconds(600)
        while true {
            do throws(AuthorityPage.Failure) {
                return try ShortCode(of: url, at: page)
            } catch {
                let left = end - SystemClock.monotonic
                guard case .refused(let refusal) = error, refusal.is(.rateLimit), left > .zero
                else { throw error }
                ProcessEnd.say("no code for now: \(refusal.text)", to: .error)
                let wait = max(error.retryAfter ?? .seconds(30), .seconds(2))
                if let claimant = board.claimant(within: min(wait, left), every: .seconds(2)) {
                    sayClaimed(by: claimant)
                    return nil
                }
            }
        }
    }

    /// Shows the code, and waits until the board is claimed by it or by the QR code, or the code is
    /// over.
    func serve(watching board: ClaimWatch) {
        ProcessEnd.say("or type \(code) at \(page.address)", to: .output)
        ProcessEnd.say("waiting for a person who claims this board; ^C ends it", to: .error)
        do throws(AuthorityPage.Failure) {
            var person: Person?
            while person == nil {
                if let claimant = board.claimant(within: interval, every: interval) {
                    return Self.sayClaimed(by: claimant)
                }
                person = try patiently(watching: board, named) ?? nil
            }
            if let person { try decide(about: person, board) }
        } catch {
            ProcessEnd.say("✗ \(error.sentence)", to: .error)
        }
    }

    /// Tries again while the authority does not answer, until the code is over. Nil: somebody
    /// claimed the board meanwhile.
    private func patiently<R>(
        watching board: ClaimWatch? = nil, _ ask: () throws(AuthorityPage.Failure) -> R
    ) throws(AuthorityPage.Failure) -> R? {
        var isTold = false
        while SystemClock.monotonic < end {
            let wait: Duration
            do throws(AuthorityPage.Failure) {
                return try ask()
            } catch {
                guard error.mayPass else { throw error }
                if !isTold {
                    ProcessEnd.say("no answer, trying again: \(error.sentence)", to: .error)
                }
                isTold = true
                let left = end - SystemClock.monotonic
                wait = max(interval, min(error.retryAfter ?? interval, left))
            }
            if let board {
                if board.claimant(within: wait, every: interval) != nil { return nil }
            } else {
                ClaimWatch.pause(wait)
            }
        }
        throw .noAnswer("the code \(code) is over; run `postern-agent pair` again")
    }

    /// A person who typed the code.
    private struct Person {
        let username: String
        let authority: String
    }

    /// Nil while nobody has typed the code.
    private func named() throws(AuthorityPage.Failure) -> Person? {
        let answer = try page.post("/claim-codes/poll", ["poll": .string(poll)])
        do throws(WireError) {
            guard try answer.string("state") == "named" else { return nil }
            return Person(
                username: try answer.parsed("username", Self.shown),
                authority: try answer.parsed("authority", Self.shown))
        } catch {
            throw .noAnswer("its answer cannot be read: \(error)")
        }
    }

    /// Text of at most 512 bytes. Nil if it has characters that are invisible or move the cursor:
    /// a name must not look like another.
    private static func shown(_ text: String) -> String? {
        let isPlain = text.unicodeScalars.allSatisfy { ClaimURL.shown(String($0)) == String($0) }
        return isPlain && !text.isEmpty && text.utf8.count <= 512 ? text : nil
    }

    private func decide(
        about person: Person, _ board: ClaimWatch
    ) throws(AuthorityPage.Failure) {
        let question = "\(person.username) wants to claim this board at \(person.authority) "
            + "(\(page.address)). Is that you? [y/N] "
        let typed = try? Terminal.ask(question, discardingEarlierInput: true)
        guard ["y", "yes"].contains((typed ?? nil)?.lowercased() ?? "") else {
            try answer(["refuse": .bool(true)])
            return ProcessEnd.say(
                "refused: nobody got this board; run `postern-agent pair` for a new code",
                to: .error)
        }
        // Another `pair --new`, or the end of the secret's time, makes another one.
        guard board.stillShows(url) else {
            try answer(["refuse": .bool(true)])
            throw .noAnswer("the board has another claim by now; run `postern-agent pair` again")
        }
        try answer(["claimSecret": .string(Base64URL.encode(url.secret.reveal()))])
        ProcessEnd.say("✓ confirmed", to: .error)
        awaitClaim(board)
    }

    /// The authority answers a repeated request as the first one.
    private func answer(_ members: [String: JSONValue]) throws(AuthorityPage.Failure) {
        _ = try patiently { () throws(AuthorityPage.Failure) in
            try page.post(
                "/claim-codes/confirm", members.merging(["poll": .string(poll)]) { $1 })
        }
    }

    /// The claim comes over the broker, which may be slow or away.
    private func awaitClaim(_ board: ClaimWatch) {
        if let person = board.claimant(within: .seconds(30), every: .milliseconds(500)) {
            return Self.sayClaimed(by: person)
        }
        ProcessEnd.say(
            "the claim has not arrived yet: the board takes it when its agent runs and reaches "
                + "the broker; see `postern-agent status`", to: .error)
    }

    private static func sayClaimed(by person: String) {
        ProcessEnd.say("✓ \(person) has claimed this board", to: .error)
    }
}

/// Sees when a person claims this board, in whatever way.
struct ClaimWatch {
    private let files: BoardFiles
    /// The answer before the code was shown. Nil: no agent runs, so no change can be seen.
    private let before: JSONObject?

    init(_ files: BoardFiles) {
        self.files = files
        before = try? BoardFiles.askRunning(files.controlPath, .session)
    }

    /// Waits for the user of a session that came since the start; nil if none did in `time`.
    func claimant(within time: Duration, every interval: Duration) -> String? {
        let end = SystemClock.monotonic + time
        repeat {
            Self.pause(min(interval, end - SystemClock.monotonic))
            if let claimantNow { return claimantNow }
        } while SystemClock.monotonic < end
        return nil
    }

    static func pause(_ time: Duration) {
        var poller = Poller()
        _ = try? poller.wait(max(time, .zero))
    }

    /// The user of a session that came since; nil if none did, or no agent ran before.
    private var claimantNow: String? {
        guard let before, let now = try? BoardFiles.askRunning(files.controlPath, .session),
            let found = Self.session(now), found.id != Self.session(before)?.id
        else { return nil }
        return found.username
    }

    /// Whether the board would still show this claim URL.
    func stillShows(_ url: ClaimURL) -> Bool {
        (try? files.ask(.pair))?.1.text("url") == url.reveal()
    }

    private static func session(_ answer: JSONObject) -> (id: ObjectID, username: String)? {
        guard answer.text("state") == "available", let session = try? answer.session("session"),
            let user = try? answer.user("user")
        else { return nil }
        return (session.objectID, user.username)
    }
}

extension JSONObject {
    /// A span of 1 to `limit` seconds.
    fileprivate func seconds(_ name: String, atMost limit: Int64) throws(WireError) -> Duration {
        let seconds = try integer(name)
        guard (1...limit).contains(seconds) else { throw .mistyped(name) }
        return .seconds(seconds)
    }
}
