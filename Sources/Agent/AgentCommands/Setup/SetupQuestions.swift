import AgentService
import LinuxIO
import Wire

/// The questions that `setup` asks on the terminal. An empty answer takes the default in brackets.
struct SetupQuestions {
    func name() throws(AgentFailure) -> String {
        let own = ProcessOwner.hostName ?? "board"
        return try ask("What is this board called? [\(own)] ", flag: "--name") ?? own
    }

    func broker() throws(AgentFailure) -> BrokerURI {
        while true {
            let text = try ask(
                "Where is the broker that the board shares with the authority? mqtts://",
                flag: "--uplink")
            guard var address = text else { continue }
            if !address.contains("://"), !address.hasPrefix("unix:") {
                address = "mqtts://" + address
            }
            do throws(BrokerURI.ParseError) {
                return try BrokerURI(address)
            } catch {
                ProcessEnd.say(error.description, to: .error)
            }
        }
    }

    /// Without a terminal there is no page: the code is then for `postern claim`, or to paste.
    func claimBase(for uplink: BrokerURI) throws(AgentFailure) -> String? {
        guard Terminal.isTerminal(.input) else { return nil }
        let guess = uplink.scheme == .mqtts
            ? "https://\(uplink.host.contains(":") ? "[\(uplink.host)]" : uplink.host):8443"
            : "-"
        let answer = try ask(
            "Where is the authority's page? - for none [\(guess)] ", flag: "--claim-base") ?? guess
        return answer == "-" ? nil : Self.claimBase(answer)
    }

    /// Without a terminal, or with all other answers given, it is off.
    func backsUpConfiguration() throws(AgentFailure) -> Bool {
        guard Terminal.isTerminal(.input) else { return false }
        let answer = try ask(
            "Keep this board's policy and routes at the authority, for a board that replaces it? "
                + "y or n [n] ", flag: "--backup-configuration")
        return ["y", "yes"].contains(answer?.lowercased())
    }

    /// The claim page of the authority with this address or page.
    static func claimBase(_ text: String) -> String {
        let page = text.contains("://") ? text : "https://" + text
        guard page.hasPrefix("http"), !page.hasSuffix("/claim") else { return page }
        return page + (page.hasSuffix("/") ? "claim" : "/claim")
    }

    func fingerprint(of uplink: BrokerURI, because fault: String) throws(AgentFailure) -> String? {
        guard Terminal.isTerminal(.input) else { return nil }
        ProcessEnd.say(
            """
            The system's certificates do not verify this broker (\(fault)). \
            That is usual: `postern-authority init --tls` makes a CA of its own.
            """, to: .error)
        while true {
            let typed = try ask(
                "The CA's fingerprint, as `postern-authority tls show` prints it: ",
                flag: "--ca-fingerprint")
            guard let typed, CertificateFingerprint(typed) == nil else { return typed }
            ProcessEnd.say("not a fingerprint: it has 32 bytes, such as SHA256:0A:1B:…", to: .error)
        }
    }

    /// Nil for an empty answer. Throws if there is no terminal.
    private func ask(_ question: String, flag: String) throws(AgentFailure) -> String? {
        guard Terminal.isTerminal(.input) else {
            throw AgentFailure(.usage, "\(flag) is missing, and there is no terminal to ask on")
        }
        let answer: String?
        do throws(SystemError) {
            answer = try Terminal.ask(question)
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
        guard let answer else { throw AgentFailure(.usage, "nothing was written") }
        let text = String(answer.drop { $0 == " " })
        return text.lastIndex { $0 != " " }.map { String(text[...$0]) }
    }
}
