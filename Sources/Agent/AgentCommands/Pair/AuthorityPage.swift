import LinuxIO
import Sessions
import Wire

/// The authority behind the claim page that `agent.toml` names. It is asked by the program `curl`,
/// so that the agent needs no HTTP library.
struct AuthorityPage {
    enum Failure: Error {
        /// Nobody answered, or not as an authority does. The sentence is for people.
        case noAnswer(String, retryAfter: Duration? = nil)
        case refused(Refusal)

        var sentence: String {
            switch self {
            case .noAnswer(let text, _): text
            case .refused(let refusal): refusal.text
            }
        }

        /// The time after which a retry may help, 1 to 3600 s; nil: not given.
        var retryAfter: Duration? {
            switch self {
            case .noAnswer(_, let wait): wait
            case .refused(let refusal): refusal.retryAfter
            }
        }

        /// Whether the same request may be answered later.
        var mayPass: Bool {
            switch self {
            case .noAnswer: true
            case .refused(let refusal): refusal.is(.rateLimit)
            }
        }
    }

    /// The page, for people: `https://authority.example/claim`.
    let address: String
    /// The page without `/claim`.
    private let root: String
    private let isEncrypted: Bool
    /// PEM file of the trusted CAs. Nil: the system's store.
    private let caFile: String?

    private static let path = "/claim"
    private static let answerLimit = 64 * 1024

    /// Nil unless `base` ends with `/claim` and is `https://`, or `http://` to this machine.
    init?(base: String, caFile: String?) {
        let address = base.hasSuffix("/") ? String(base.dropLast()) : base
        let isEncrypted = address.hasPrefix("https://")
        guard address.hasSuffix(Self.path), isEncrypted || address.hasPrefix("http://"),
            !address.utf8.contains(where: { "?@\\".utf8.contains($0) })
        else { return nil }
        // The scheme, nothing, the host, and a path.
        let parts = address.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 4, let place = try? BrokerURI("mqtt://\(parts[2])"),
            isEncrypted || place.isLoopback
        else { return nil }
        self.address = address
        self.isEncrypted = isEncrypted
        self.caFile = caFile
        root = String(address.dropLast(Self.path.count))
    }

    /// Sends a request below `/postern/v1`. The members may hold secrets: `curl` gets them on its
    /// standard input.
    func post(
        _ path: String, _ members: [String: JSONValue]
    ) throws(Failure) -> JSONObject {
        let output: [UInt8]
        do throws(ChildProgram.Failure) {
            output = try ChildProgram.output(
                of: "curl", arguments(path), input: JSONValue.object(members).bytes,
                limit: Self.answerLimit, patience: .seconds(15))
        } catch {
            throw .noAnswer("\(error)")
        }
        return try Self.read(output, hasCAFile: caFile != nil)
    }

    /// `-q` comes first: then curl reads no configuration file. A curl older than 7.84 prints no
    /// header, but the words.
    private func arguments(_ path: String) -> [String] {
        [
            "-q", "--silent", "--show-error", "--stderr", "-", "--globoff",
            "--proto", isEncrypted ? "=https" : "=http", "--max-time", "10",
            "--max-filesize", "\(Self.answerLimit)", "--header", "Content-Type: application/json",
            "--data-binary", "@-", "--write-out", "\\n%{http_code} %header{retry-after}",
        ] + (caFile.map { ["--cacert", $0] } ?? []) + ["--url", "\(root)/postern/v1\(path)"]
    }

    /// The answer, then a line with the status and `Retry-After`. Without an answer, `curl` says
    /// why.
    static func read(
        _ output: [UInt8], hasCAFile: Bool = false
    ) throws(Failure) -> JSONObject {
        guard let end = output.lastIndex(of: UInt8(ascii: "\n")) else {
            throw .noAnswer("curl gave no answer")
        }
        let words = String(decoding: output[(end + 1)...], as: UTF8.self)
            .split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let status = words.first.flatMap({ Int($0) }) else {
            throw .noAnswer("curl gave no answer")
        }
        let seconds = words.count == 2 ? Int64(words[1]) ?? 0 : 0
        let wait: Duration? = (1...3600).contains(seconds) ? .seconds(seconds) : nil
        let body = Array(output[..<end])
        guard status != 0 else {
            let line = String(decoding: body.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            // Source: curl(1), exit codes: 60 is a certificate that cannot be verified.
            let help = !line.hasPrefix("curl: (60)") ? ""
                : line.contains("not yet valid") ? "; set this board's clock"
                : hasCAFile ? "; ca_file under [claim] in agent.toml is not its CA"
                : "; name its CA by ca_file under [claim] in agent.toml"
            throw .noAnswer((line.isEmpty ? "curl got no answer" : line) + help)
        }
        guard let json = try? JSONObject(parsing: body, limit: answerLimit) else {
            throw .noAnswer(
                "it answered with HTTP status \(status), not as an authority", retryAfter: wait)
        }
        guard 200...299 ~= status else {
            guard var refusal = try? Refusal(json: json) else {
                throw .noAnswer("it answered with HTTP status \(status)", retryAfter: wait)
            }
            refusal.retryAfter = wait ?? refusal.retryAfter
            throw status >= 500
                ? .noAnswer(refusal.text, retryAfter: refusal.retryAfter) : .refused(refusal)
        }
        return json
    }
}
