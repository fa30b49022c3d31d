import AsyncHTTPClient
import AuthorityCore
import LinuxIO
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Settings

/// Why a key set could not be had. No text in it is the provider's.
struct KeySetFailure: Error, Equatable {
    /// The layer and what happened there: for anyone who tries to log in.
    let words: String
    /// Names files and hosts: for the log.
    var detail = ""
}

/// Reads a key set from where it is: at most 64 KiB, and from a URL in at most 5 s, by a
/// server whose certificate the system's store trusts, following no redirect.
struct KeySetSource: Sendable {
    private let place: AuthoritySettings.KeySetPlace
    private static let time = Duration.seconds(5)

    init(_ place: AuthoritySettings.KeySetPlace) { self.place = place }

    func read() async -> Result<IdentityKeySet, KeySetFailure> {
        do throws(KeySetFailure) {
            let bytes =
                switch place {
                case .file(let path): try Self.read(path)
                case .url(let url): try await Self.fetch(url)
                }
            guard let keys = IdentityKeySet(parsing: bytes) else {
                throw KeySetFailure(words: "key set: no key that can be used here is in it")
            }
            return .success(keys)
        } catch {
            return .failure(error)
        }
    }

    /// Who may change the file decides who logs in, so nobody else may.
    private static func read(_ path: String) throws(KeySetFailure) -> [UInt8] {
        do throws(FileFailure) {
            return try PrivateFile.read(
                path, limit: IdentityKeySet.limit, strictestMode: 0o644)
        } catch {
            throw KeySetFailure(words: "file: it could not be read", detail: "\(error)")
        }
    }

    private static func fetch(_ url: String) async throws(KeySetFailure) -> [UInt8] {
        do {
            return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask { try await exchange(url) }
                group.addTask {
                    // The client's own limit ends with the answer's head; a body may drip.
                    try await Task.sleep(for: time)
                    throw KeySetFailure(words: "HTTP: not all of the answer came in time")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? []
            }
        } catch let failure as KeySetFailure {
            throw failure
        } catch {
            throw KeySetFailure(words: layer(of: error), detail: url)
        }
    }

    private static func exchange(_ url: String) async throws -> [UInt8] {
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            var request = HTTPClientRequest(url: url)
            request.headers.add(
                name: "Accept", value: "application/jwk-set+json, application/json")
            let response = try await client.execute(request, timeout: TimeAmount(time))
            guard response.status == .ok else {
                throw KeySetFailure(words: "HTTP: status \(response.status.code)")
            }
            let body = try await response.body.collect(upTo: IdentityKeySet.limit)
            return Array(buffer: body)
        }
    }

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            certificateVerification: .fullVerification, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(time)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        return configuration
    }

    private static func layer(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.isEmpty
                ? "name lookup: the host has no address" : "TCP: no connection"
        case let error as IOError: "TCP: \(SystemError.text(error.errnoCode))"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            "TLS: no trust in the server, or no agreement with it"
        case is NIOTooManyBytesError: "HTTP: the key set is longer than 64 KiB"
        case let error as HTTPClientError: layer(of: error)
        default: "HTTP: the exchange broke off"
        }
    }

    private static func layer(of error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout: "TCP: no answer in time"
        case .tlsHandshakeTimeout: "TLS: no handshake in time"
        case .deadlineExceeded, .readTimeout: "HTTP: no answer in time"
        default: "HTTP: \(error.shortDescription)"
        }
    }
}
