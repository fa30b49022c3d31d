import LinuxIO
import Sessions
import Wire

/// A login that a person allows at the authority's page, in any browser.
///
/// Source: RFC 8628, with Postern's names for members and errors.
struct BrowserLogin {
    let client: AuthorityClient
    let surroundings: CommandEnvironment

    /// What the authority answered to the request.
    private struct Pending {
        let deviceCode: String
        let userCode: String
        let page: String
        let pageWithCode: String
        let life: Int64
        let interval: Int64

        var pages: [String] { [page, pageWithCode] }

        init(json: JSONObject) throws(WireError) {
            deviceCode = try json.string("deviceCode")
            userCode = try json.string("userCode")
            page = try json.parsed("verificationUri", Self.address)
            pageWithCode = try json.parsed("verificationUriComplete", Self.address)
            life = try json.parsed("expiresIn", in: 1...3600)
            interval = try json.parsed("interval", in: 1...60)
        }

        /// Plain text that begins as an address, because another program may open it.
        private static func address(_ text: String) -> String? {
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            let isWeb = text.hasPrefix("https://") || text.hasPrefix("http://")
            return isPlain && isWeb && text.utf8.count <= 2048 ? text : nil
        }
    }

    /// How much longer to wait after `slow-down`, in seconds. Source: RFC 8628 §3.5.
    private static let slowing: Int64 = 5
    /// The longest wait between two questions, in seconds.
    private static let longest: Int64 = 60

    /// The authority's answer to a login, with the session's token.
    func perform() async throws(CommandFailure) -> JSONObject {
        let answer = try await client.own(
            .post, "/login/requests", ["program": .string(Self.program)])
        let pending = try decoding { () throws(WireError) in try Pending(json: answer) }
        guard !client.url.isEncrypted || pending.pages.allSatisfy({ $0.hasPrefix("https://") })
        else {
            throw .configuration(
                "the authority names a page without HTTPS; its public_url must begin with https")
        }
        show(pending)
        return try await wait(for: pending)
    }

    /// The name for the session: this program on this machine.
    private static var program: String {
        let host = (ProcessOwner.hostName ?? "").filter { character in
            character.isASCII && (character.isLetter || character.isNumber || character == "-")
        }
        return host.isEmpty ? "postern" : "postern on \(host.prefix(48))"
    }

    private func show(_ pending: Pending) {
        surroundings.note("To log in, open this page in a browser, on this machine or another:")
        surroundings.note("    \(pending.pageWithCode)")
        surroundings.note("Compare the code there, and allow the login only if it is the same:")
        surroundings.note("    \(Printable.line(pending.userCode))")
        // Without the code, because other users of the machine can read command lines.
        if let openPage = surroundings.openPage, openPage(pending.page) {
            surroundings.note("A browser opens on this machine; type the code there.")
        }
        let minutes = max(1, pending.life / 60)
        surroundings.note("Waiting for \(minutes) minutes at most. End it with ^C.")
    }

    /// Asks again and again until the person has decided. A network that is away for a while ends
    /// nothing.
    private func wait(for pending: Pending) async throws(CommandFailure) -> JSONObject {
        let end = ContinuousClock.now + .seconds(pending.life)
        var interval = pending.interval
        var trouble: CommandFailure?
        var isOneLost = false
        while ContinuousClock.now < end, !Task.isCancelled {
            await surroundings.pause(.seconds(interval))
            do throws(CommandFailure) {
                return try await client.own(
                    .post, "/login/requests/session",
                    ["deviceCode": .string(pending.deviceCode)])
            } catch {
                if case .refused(let refusal) = error {
                    trouble = nil
                    if refusal.name?.description == "expired-token" {
                        throw isOneLost ? Self.perhaps : Self.late
                    }
                } else {
                    (trouble, isOneLost) = (error, true)
                }
                interval = min(try Self.interval(after: error, interval), Self.longest)
            }
        }
        throw trouble ?? Self.late
    }

    /// The wait until the next question. Throws the failure if it is final.
    private static func interval(
        after failure: CommandFailure, _ interval: Int64
    ) throws(CommandFailure) -> Int64 {
        switch failure {
        case .refused(let refusal):
            switch refusal.name?.description {
            case "authorization-pending": return interval
            case "slow-down": return interval + slowing
            default: break
            }
            guard refusal.is(.rateLimit) else { throw failure }
            return interval + slowing
        // Another certificate than before is no trouble that goes by.
        case .offline(layer: "TLS", _): throw failure
        // Source: RFC 8628 §3.5, the last paragraph: wait twice as long.
        case .offline, .failed: return interval * 2
        default: throw failure
        }
    }

    private static let late = CommandFailure.offline(
        layer: "login", text: "nobody allowed it in time; run the command again for a new code")
    /// An answer was lost, and it may have been the one with the token.
    private static let perhaps = CommandFailure.offline(
        layer: "login", text: "the login is over; an answer was lost on the way, so a session may "
            + "be open: look under Sessions at the page, then run the command again")
}

extension JSONObject {
    fileprivate func parsed(
        _ name: String, in range: ClosedRange<Int64>
    ) throws(WireError) -> Int64 {
        try required(name) { value in
            value.asInteger.flatMap { range.contains($0) ? $0 : nil }
        }
    }
}
