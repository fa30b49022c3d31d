import AuthorityCore
import ConfigurationFiles
import HTTPClient
import LinuxIO

/// Why a key set, or anything else of a provider, could not be read. It holds no text from the
/// provider.
struct KeySetFailure: Error, Equatable {
    /// The layer and its error, for people who try to log in.
    let words: String
    /// The file or host, for the log.
    var detail = ""
}

/// Reads a key set from its file or URL: at most 64 KiB, and from a URL within 5 s. The server's
/// certificate must be trusted by the system's store. It follows no redirect.
struct KeySetSource: Sendable {
    private let place: AuthoritySettings.KeySetPlace
    private static let time = Duration.seconds(5)

    init(_ place: AuthoritySettings.KeySetPlace) { self.place = place }

    func read() async -> Result<IdentityKeySet, KeySetFailure> {
        do throws(KeySetFailure) {
            let bytes =
                switch place {
                case .file(let path): try Self.read(path)
                case .url(let url):
                    try await Self.fetch(
                        url, accepting: "application/jwk-set+json, application/json")
                }
            guard let keys = IdentityKeySet(parsing: bytes) else {
                throw KeySetFailure(words: "key set: it has no key that can be used here")
            }
            return .success(keys)
        } catch {
            return .failure(error)
        }
    }

    /// A user who can change the file decides who logs in, so only its owner may.
    private static func read(_ path: String) throws(KeySetFailure) -> [UInt8] {
        do throws(FileFailure) {
            return try PrivateFile.read(
                path, limit: IdentityKeySet.limit, strictestMode: 0o644)
        } catch {
            throw KeySetFailure(words: "file: it could not be read", detail: "\(error)")
        }
    }

    static func fetch(
        _ url: String, accepting types: String
    ) async throws(KeySetFailure) -> [UInt8] {
        var request = HTTPRequest("GET", url, headers: [("Accept", types)])
        request.connectLimit = time
        request.limit = time
        request.answerLimit = IdentityKeySet.limit
        let answer: HTTPAnswer
        do throws(HTTPFailure) {
            answer = try await request.answer()
        } catch {
            throw KeySetFailure(error, at: url)
        }
        guard answer.status == 200 else {
            throw KeySetFailure(words: "HTTP: status \(answer.status)")
        }
        return answer.body
    }
}

extension KeySetFailure {
    init(_ failure: HTTPFailure, at url: String) {
        self.init(words: "\(failure.layer.rawValue): \(Self.reason(failure))", detail: url)
    }

    private static func reason(_ failure: HTTPFailure) -> String {
        switch failure {
        case .noAddress: "the host has no address"
        case .noConnection(let code): code.map(SystemError.text) ?? "no connection"
        case .notTrusted, .tlsRefused, .tls: "the server is not trusted, or TLS failed"
        case .late(.tls): "the TLS handshake took too long"
        case .late: "the answer took too long"
        case .tooLong: "the answer is longer than 64 KiB"
        case .closed: "the server closed the connection"
        case .interrupted, .exchange: "the connection was interrupted"
        }
    }
}
