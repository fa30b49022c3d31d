import AgentCore
import AgentService
import ArgumentParser
import ConfigurationFiles
import LinuxIO
import Sessions
import Wire

/// `postern-agent session`: shows, renews or ends the session on this board.
struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "The session on this board.",
        subcommands: [
            SessionShowCommand.self, SessionRefreshCommand.self, SessionLogoutCommand.self,
        ], defaultSubcommand: SessionShowCommand.self)

    static func sentence(_ answer: JSONObject) -> String {
        guard answer.members["state"] == .string("available"),
            let session = try? answer.session("session")
        else {
            if let asking = asking(answer) { return "none yet: " + asking }
            let reason = answer.shown("reason")
            return reason == "unclaimed" ? "none: nobody has claimed this board yet"
                : "unavailable: " + reason + help(answer)
        }
        let end = session.expiresAt.map { "until \(CalendarText.utc($0)) UTC" } ?? "without an end"
        return "\(session.objectID), available \(end)"
    }

    /// What a board with a prepared claim waits for; nil for another board.
    static func asking(_ answer: JSONObject) -> String? {
        guard let joining = try? answer.object("joining") else { return nil }
        let authority = joining.shown("authority")
        let print = "fingerprint " + joining.shown("fingerprint")
        return switch joining.text("state") {
        case "asked": "asks to join \(authority); \(print)"
        case "refused":
            "wants to join \(authority), whose broker refuses its prepared claim; \(print)"
        default: "has not asked to join \(authority) yet; \(print)"
        }
    }

    /// The next step of such a board.
    static func nextOfAsking(_ answer: JSONObject) -> String {
        switch (try? answer.object("joining"))?.text("state") {
        case "asked":
            """
            accept it on the authority's page or by `postern claims accept`, after comparing the \
            fingerprint
            """
        case "refused":
            """
            the claim has ended, or agent.toml names another broker: see `postern claims list`; \
            prepare another claim, or run `postern-agent pair`
            """
        default: "look at the uplink of `postern-agent status`"
        }
    }

    /// The next step after a session has ended for good.
    private static func help(_ answer: JSONObject) -> String {
        let reason = answer.text("reason")
        guard answer.members["final"] == .bool(true),
            let end = reason.flatMap(SessionEnd.init(rawValue:))
        else { return "" }
        return "; " + end.help
    }

    /// When the session ends by itself; nil without a session.
    static func ends(_ answer: JSONObject) -> String? {
        guard let ends = try? answer.object("sessionEnds"), let at = try? ends.time("at") else {
            return nil
        }
        let isOffline = ends.text("cause") == SessionOutlook.Cause.offline.rawValue
        return "\(CalendarText.utc(at)) UTC" + (isOffline ? ", unless its authority is heard" : "")
    }
}

struct SessionShowCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the session, without its tokens.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let (_, answer) = try BoardFiles(folder: place.configDir).ask(.session)
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            ProcessEnd.say("session    " + SessionCommand.sentence(answer), to: .output)
            if let user = try? answer.user("user") {
                ProcessEnd.say("user       \(user.username) (\(user.objectID))", to: .output)
            }
            ProcessEnd.say("authority  " + answer.shown("authority"), to: .output)
        }
        return answer.members["state"] == .string("available") ? .ok : .notProvisioned
    }
}

struct SessionRefreshCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Renew the tokens now, and check the session.",
        discussion: """
            With --for, the agent also asks for a session that lasts that long from now: 5 \
            minutes to 1 year, and at most the authority's limit. It never shortens a session.
            """)

    @OptionGroup var place: BoardPlace

    @Option(name: .customLong("for"),
            help: ArgumentHelp("How long the session should last.", valueName: "duration"))
    var span: String?

    func perform() throws(AgentFailure) -> ExitStatus {
        let request = ControlRequest.refresh(minutes: try minutes())
        let (isRunning, answer) = try BoardFiles(folder: place.configDir).ask(request)
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else if answer.text("result") == "done" {
            ProcessEnd.say("session    " + SessionCommand.sentence(answer), to: .output)
        }
        let (status, sentence) = Self.outcome(answer, isRunning)
        if let sentence { ProcessEnd.say(sentence, to: .error) }
        return status
    }

    private func minutes() throws(AgentFailure) -> Int64? {
        guard let span else { return nil }
        let duration: Duration
        do throws(DurationText.Invalid) {
            duration = try DurationText.parse(span)
        } catch {
            throw AgentFailure(.usage, "--for: \(error)")
        }
        guard (LifetimePolicy.shortest...LifetimePolicy.longest).contains(duration) else {
            throw AgentFailure(.usage, "--for must be at least 5m and at most 365d")
        }
        return duration.components.seconds / 60
    }

    static func outcome(_ answer: JSONObject, _ isRunning: Bool) -> (ExitStatus, String?) {
        switch answer.text("result") {
        case "done":
            let isAvailable = answer.text("state") == "available"
            return (isAvailable ? .ok : .notProvisioned, nil)
        case "no-session":
            return (.notProvisioned, "there is no session: run `postern-agent pair`")
        case "offline" where !isRunning:
            return (.offline, "nothing was renewed: the agent does not run")
        case "offline":
            return (.offline, "nothing was renewed: " + answer.shown("uplink"))
        case "late":
            return (.offline, "the authority has not answered yet; the agent keeps asking")
        default:
            let refusal = (try? answer.object("error")).flatMap { try? Refusal(json: $0) }
            let text = refusal.map { "\($0.code) \($0.text)" } ?? "the answer cannot be read"
            return (.failed, "refused: " + text)
        }
    }
}

struct SessionLogoutCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session on this board.",
        discussion: """
            The tokens are destroyed at once, also offline. Queued messages are kept, \
            encrypted, for the same user's next session. The authority learns of it now, or at \
            a connection within a day; otherwise it ends the session by its own limits.
            """)

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let (_, answer) = try BoardFiles(folder: place.configDir).ask(.logout)
        if place.json { ProcessEnd.say(JSONValue.object(answer.members).text, to: .output) }
        let (status, sentence) = Self.outcome(answer)
        ProcessEnd.say(sentence, to: .error)
        return status
    }

    static func outcome(_ answer: JSONObject) -> (ExitStatus, String) {
        switch answer.text("result") {
        case "done": (.ok, "signed out; the authority has confirmed it")
        case "no-session": (.notProvisioned, "there is no session to sign out of")
        case "offline", "late":
            (.offline, "signed out on this board; the authority learns of it at a connection "
                + "within a day, or ends the session by its own limits")
        default:
            (.failed, "signed out on this board; the authority refused the sign-out")
        }
    }
}
