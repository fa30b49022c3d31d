import AuthorityCore
package import ConfigurationFiles
import Foundation
import HTTPClient
import LinuxIO
import Logging
package import Sessions
import Synchronization
import Wire

/// A provider with a button on the page.
package struct ProviderSource: Sendable {
    package let name: LoginProvider
    package let issuer: String
    package let button: AuthoritySettings.LoginButton

    package init?(_ login: AuthoritySettings.Login) {
        guard let button = login.button else { return nil }
        self.button = button
        name = login.name
        issuer = login.issuer
    }
}

/// Exchanges codes at the providers that have a button on the page.
///
/// Each request has at most five seconds, and an answer at most 64 KiB. The server's certificate
/// must be trusted by the system's store. No redirect is followed.
final class ProviderCodes: AuthorizationCodes {
    private static let time = Duration.seconds(5)

    private let sources: [LoginProvider: (source: ProviderSource, cache: ProviderMetadataCache)]
    private let logger: Logger
    private let running = Mutex(CodeExchangeLimit())

    /// Throws if a client secret cannot be read.
    init(_ sources: [ProviderSource], logger: Logger) throws {
        let start = ContinuousClock.now
        self.sources = Dictionary(uniqueKeysWithValues: sources.map { source in
            (source.name, (source, ProviderMetadataCache(
                read: { await Self.describe(source, logger) },
                clock: { ContinuousClock.now - start })))
        })
        self.logger = logger
        for case let file? in sources.map(\.button.secretFile) {
            do throws(KeySetFailure) { _ = try Self.secret(file) } catch {
                throw SettingsError(
                    file: "authority.toml",
                    message: "login: the client secret: \(error.words) \(error.detail)")
            }
        }
    }

    func entrance(
        of provider: LoginProvider
    ) async throws(AuthorityError) -> ProviderEntrance {
        try await metadata(of: provider).entrance
    }

    func token(
        for code: AuthorizationCode, at provider: LoginProvider
    ) async throws(AuthorityError) -> Result<IDToken, ProviderProblem> {
        let metadata = try await metadata(of: provider)
        guard let source = sources[provider]?.source else { return .failure(.code) }
        let origin = CountedOrigin(code.origin)
        guard running.withLock({ $0.enter(origin) }) else {
            throw .refused(.tooMany("logins at providers at this moment", wait: Self.time))
        }
        defer { running.withLock { $0.leave(origin) } }
        do throws(KeySetFailure) {
            let request = try Self.request(code, source.button, metadata)
            let answer: HTTPAnswer
            do throws(HTTPFailure) { answer = try await request.answer() } catch {
                throw KeySetFailure(error, at: metadata.tokenEndpoint)
            }
            return token(in: answer, of: provider)
        } catch {
            logger.warning("token endpoint of \(provider): \(error.words) \(error.detail)")
            throw .failed(layer: "token endpoint of \(provider)", text: error.words)
        }
    }

    private func metadata(
        of provider: LoginProvider
    ) async throws(AuthorityError) -> ProviderMetadata {
        guard let (source, cache) = sources[provider] else {
            throw .failed(layer: "provider \(provider)", text: "it has no button")
        }
        if let endpoints = source.button.endpoints { return ProviderMetadata(endpoints) }
        do throws(KeySetFailure) {
            return try await cache.metadata()
        } catch {
            throw .failed(layer: "description of \(provider)", text: error.words)
        }
    }

    private static func describe(
        _ source: ProviderSource, _ logger: Logger
    ) async -> Result<ProviderMetadata, KeySetFailure> {
        let address = ProviderMetadata.address(of: source.issuer)
        do throws(KeySetFailure) {
            let bytes = try await KeySetSource.fetch(address, accepting: "application/json")
            guard let metadata = ProviderMetadata(parsing: bytes, of: source.issuer) else {
                throw KeySetFailure(
                    words: "it does not describe this issuer with https addresses",
                    detail: address)
            }
            return .success(metadata)
        } catch {
            logger.warning("description of \(source.name): \(error.words) \(error.detail)")
            return .failure(error)
        }
    }

    /// Source: OpenID Connect Core §3.1.3.1; RFC 6749 §2.3.1 and §4.1.3; RFC 7636 §4.5.
    private static func request(
        _ code: AuthorizationCode, _ button: AuthoritySettings.LoginButton,
        _ metadata: ProviderMetadata
    ) throws(KeySetFailure) -> HTTPRequest {
        var form = [
            ("grant_type", "authorization_code"), ("code", text(code.code)),
            ("redirect_uri", code.redirectURI), ("code_verifier", text(code.verifier)),
        ]
        var headers = [
            ("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"),
        ]
        if let file = button.secretFile {
            let secret = text(try Self.secret(file))
            if metadata.takesSecretInBody {
                form += [("client_id", button.clientID), ("client_secret", secret)]
            } else {
                let pair = [button.clientID, secret].map(PercentEncoding.encode)
                    .joined(separator: ":")
                headers.append(("Authorization", "Basic \(Data(pair.utf8).base64EncodedString())"))
            }
        } else {
            form.append(("client_id", button.clientID))
        }
        let body = form.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        var request = HTTPRequest(
            "POST", metadata.tokenEndpoint, headers: headers, body: Array(body.utf8))
        (request.connectLimit, request.limit) = (time, time)
        request.answerLimit = ProviderMetadata.limit
        return request
    }

    /// The id token of an answer. The log says more of a refusal, and only in known words.
    private func token(
        in answer: HTTPAnswer, of provider: LoginProvider
    ) -> Result<IDToken, ProviderProblem> {
        do throws(WireError) {
            let json = try JSONObject(parsing: answer.body, limit: ProviderMetadata.limit)
            guard answer.status == 200 else {
                let code = try json.optional("error") { $0.asString } ?? ""
                let known = Self.errors.contains(code) ? code : "an unknown error"
                logger.warning(
                    "token endpoint of \(provider): status \(answer.status), \(known)")
                return .failure(.code)
            }
            return .success(try json.parsed("id_token", IDToken.init))
        } catch {
            logger.warning(
                "token endpoint of \(provider): status \(answer.status), and no id token")
            return .failure(.code)
        }
    }

    /// Source: RFC 6749 §5.2.
    private static let errors: Set = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
        "unsupported_grant_type", "invalid_scope",
    ]

    /// The first line of a file that only its owner may read. Read for each exchange, so that a new
    /// secret counts at once.
    private static func secret(_ file: String) throws(KeySetFailure) -> SecretBytes {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(file, limit: 4096)
        } catch {
            throw KeySetFailure(words: "file: it could not be read", detail: "\(error)")
        }
        let line = AuthorityServer.firstLine(bytes)
        guard !line.isEmpty else {
            throw KeySetFailure(words: "file: the first line is empty", detail: file)
        }
        return SecretBytes(line)
    }

    private static func text(_ secret: SecretBytes) -> String {
        String(decoding: secret.reveal(), as: UTF8.self)
    }
}
