import AgentCore
import AgentService
import ArgumentParser
import ConfigurationFiles
import LinuxIO
import QRCode
import Sessions
import Wire

/// `postern-agent pair`: shows the claim URL, as a QR code and as text.
struct PairCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Show the code with which a person claims this board.",
        discussion: """
            A person who sees the QR code can claim the board: show it to nobody else. It works \
            once.

            On a terminal there is also a short code to type at the authority's claim page. It \
            gives nobody the board: you confirm the person here.
            """)

    @OptionGroup var place: BoardPlace

    @Flag(help: "Make a new code, even if the board is claimed.")
    var new = false

    func perform() throws(AgentFailure) -> ExitStatus {
        let (files, isRunning, answer) = try ask()
        let watch = ClaimWatch(files)
        if let refusal = try? Refusal(json: answer) {
            throw AgentFailure(.usage, refusal.text)
        }
        guard let url = try? answer.string("url"), let expiry = try? answer.time("expiresAt")
        else { throw AgentFailure(.failed, "the agent's answer cannot be read") }
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
            return .ok
        }
        do throws(QRCode.Failure) {
            let code = try QRCode(text: url)
            ProcessEnd.say(code.terminalText(), to: .output)
        } catch {
            ProcessEnd.say("the code cannot be drawn: \(error)", to: .error)
        }
        ProcessEnd.say(url, to: .output)
        if let fingerprint = answer.text("fingerprint") {
            ProcessEnd.say("fingerprint \(fingerprint)", to: .error)
        }
        ProcessEnd.say("claim the board before \(CalendarText.utc(expiry)) UTC", to: .error)
        if !isRunning {
            ProcessEnd.say(
                "the agent does not run, so it cannot take the claim: start it with "
                    + "`sudo systemctl start postern-agent`", to: .error)
        }
        if url.hasPrefix(ClaimURL.defaultBase) {
            ProcessEnd.say(
                "a phone camera cannot open this: paste it at the authority's /claim, or set base "
                    + "under [claim] in agent.toml to that address", to: .error)
        } else if Terminal.isTerminal(.input), Terminal.isTerminal(.output) {
            showShortCode(for: url, files, watch)
        }
        return .ok
    }

    /// Waits until a person has claimed the board, or the code is over.
    private func showShortCode(for text: String, _ files: BoardFiles, _ watch: ClaimWatch) {
        guard let url = try? ClaimURL(text) else { return }
        let settings = files.settings.claim
        guard let page = AuthorityPage(base: settings.base, caFile: settings.caFile) else {
            return ProcessEnd.say(
                "no short code: base under [claim] in agent.toml must be an https:// address that "
                    + "ends with /claim", to: .error)
        }
        do throws(AuthorityPage.Failure) {
            try ShortCode.patient(for: url, at: page, watch)?.serve(watching: watch)
        } catch {
            ProcessEnd.say("no short code: \(error.sentence)", to: .error)
        }
    }

    /// The claim code lets a person take the board, so only root and the agent's group may see it.
    private func ask(
    ) throws(AgentFailure) -> (files: BoardFiles, isRunning: Bool, answer: JSONObject) {
        do throws(AgentFailure) {
            let files = try BoardFiles(folder: place.configDir)
            let (isRunning, answer) = try files.ask(new ? .pairNew : .pair)
            return (files, isRunning, answer)
        } catch {
            guard error.status == .notPermitted else { throw error }
            throw AgentFailure(
                .notPermitted, error.sentence + "; `pair` needs root or the agent's group")
        }
    }
}
