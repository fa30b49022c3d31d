import AuthorityBroker
import AuthorityCore
import ConfigurationFiles
import Cryptography
import Foundation
import HTTPClient
import LinuxIO
import Sessions
import Wire

/// The channels of `[alerts]`. A message goes to their addresses and nowhere else: no redirect is
/// followed, and no proxy is used.
struct AlertChannels: Sendable {
    let settings: AlertSettings
    /// The authority's name, for people.
    let name: String
    /// The address of the page, for links.
    let publicURL: String

    /// The time limits of one try.
    private static let connectLimit = Duration.seconds(10)
    private static let limit = Duration.seconds(15)
    /// An answer's body is not used.
    private static let answerLimit = 64 * 1024

    var all: [AlertChannel] {
        AlertChannel.allCases.filter { channel in
            switch channel {
            case .webhook: settings.webhook != nil
            case .email: settings.mail != nil
            case .ntfy: settings.ntfy != nil
            case .push: settings.push != nil
            }
        }
    }

    /// Why secrets and certificates cannot be read now.
    var faults: [String] {
        let files = [
            settings.webhook?.secretFile, settings.ntfy?.tokenFile, settings.mail?.passwordFile,
        ]
        var faults: [String] = []
        for case let file? in files {
            do throws(ChannelFailure) { _ = try secret(file) } catch { faults.append(error.words) }
        }
        do throws(ChannelFailure) { _ = try trust() } catch { faults.append(error.words) }
        return faults
    }

    /// Sends a notice once. Returns the failure in words without a secret; nil if it was sent.
    func send(_ notice: AlertNotice, on channel: AlertChannel) async -> String? {
        do throws(ChannelFailure) {
            switch channel {
            case .webhook: try await call(notice)
            case .email: try await mail(notice)
            case .ntfy: try await notify(notice)
            // It has other receivers for each board: `PushService` sends it.
            case .push: break
            }
            return nil
        } catch {
            return error.words
        }
    }

    private func call(_ notice: AlertNotice) async throws(ChannelFailure) {
        guard let webhook = settings.webhook else { return }
        let body = notice.json.bytes
        let time = String(systemClock().seconds)
        let key = try secret(webhook.secretFile)
        let code: [UInt8]
        do throws(CryptographyError) {
            code = try HMACSHA256.authenticate(Array("\(time).".utf8) + body, key: key)
        } catch {
            throw ChannelFailure(words: "the message could not be signed")
        }
        try await post(webhook.url, [
            ("Content-Type", "application/json"), ("X-Postern-Timestamp", time),
            ("X-Postern-Signature", "sha256=\(Self.hex(code))"),
        ], body)
    }

    private func notify(_ notice: AlertNotice) async throws(ChannelFailure) {
        guard let ntfy = settings.ntfy else { return }
        var headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Title", MailText.words(notice.title).joined(separator: " ")),
            ("Priority", notice.isOpen ? "high" : "default"),
            ("Tags", notice.isOpen ? "warning" : "white_check_mark"), ("Click", notice.url),
        ]
        if let file = ntfy.tokenFile {
            let token = String(decoding: try secret(file).reveal(), as: UTF8.self)
            headers.append(("Authorization", "Bearer \(token)"))
        }
        try await post(ntfy.url, headers, Array(notice.sentence.utf8))
    }

    private func mail(_ notice: AlertNotice) async throws(ChannelFailure) {
        guard let settings = settings.mail else { return }
        var mail = Mail(
            server: settings.server, demandsTLS: settings.demandsTLS, from: settings.from,
            to: settings.to,
            text: MailText(
                from: settings.from, to: settings.to, notice: notice, at: systemClock()
            ).bytes)
        if let username = settings.username, let file = settings.passwordFile {
            mail.login = (username, try secret(file))
        }
        mail.trust = try trust()
        (mail.connectLimit, mail.limit) = (Self.connectLimit, Self.limit)
        do throws(HTTPFailure) { try await mail.send() } catch {
            throw ChannelFailure(error)
        }
    }

    private func post(
        _ url: String, _ headers: [(name: String, value: String)], _ body: [UInt8]
    ) async throws(ChannelFailure) {
        var request = HTTPRequest("POST", url, headers: headers, body: body)
        (request.connectLimit, request.limit) = (Self.connectLimit, Self.limit)
        request.answerLimit = Self.answerLimit
        request.trust = try trust()
        let answer: HTTPAnswer
        do throws(HTTPFailure) { answer = try await request.answer() } catch {
            throw ChannelFailure(error)
        }
        guard (200..<300).contains(answer.status) else {
            throw ChannelFailure(words: "HTTP: status \(answer.status)")
        }
    }

    /// How certificates are checked; nil if `ca_file` cannot be read now.
    func trustOrNil() -> HTTPTrust? {
        do throws(ChannelFailure) { return try trust() } catch { return nil }
    }

    /// A failure in words without a secret.
    static func words(of failure: HTTPFailure) -> String { ChannelFailure(failure).words }

    private func trust() throws(ChannelFailure) -> HTTPTrust {
        guard let file = settings.caFile else { return HTTPTrust() }
        do throws(FileFailure) {
            let pem = try PrivateFile.read(
                file, limit: 1 << 20, strictestMode: 0o644, followsLinks: true)
            return HTTPTrust(roots: .certificates(pem))
        } catch {
            throw ChannelFailure(words: "\(error)")
        }
    }

    /// The first line of a file that only its owner may read. Read for each message, so that a new
    /// secret needs no restart.
    private func secret(_ file: String) throws(ChannelFailure) -> SecretBytes {
        let line: ArraySlice<UInt8>
        do throws(FileFailure) {
            line = AuthorityServer.firstLine(try PrivateFile.read(file, limit: 4096))
        } catch {
            throw ChannelFailure(words: "\(error)")
        }
        // The secret goes into headers, and libcurl's texts end at a zero byte.
        guard !line.isEmpty, line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ChannelFailure(words: "\(file) has no secret in its first line")
        }
        return SecretBytes(line)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// Why a message was not sent, in words without a secret.
private struct ChannelFailure: Error {
    let words: String

    init(words: String) { self.words = words }

    init(_ failure: HTTPFailure) {
        let layer = failure.layer.rawValue
        let reason =
            switch failure {
            case .noAddress: "the host has no address"
            case .noConnection(let code): code.map(SystemError.text) ?? "no connection"
            case .notTrusted(let text): "the server's certificate is not trusted (\(text))"
            case .tlsRefused(let text), .tls(let text), .exchange(let text): text
            case .late: "no answer in time"
            case .tooLong: "the answer is too long"
            case .closed: "the server closed the connection"
            case .interrupted: "interrupted"
            }
        // libcurl's words come in part from the server.
        let line = "\(layer): \(reason)".unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        words = String(String.UnicodeScalarView(line.prefix(300)))
    }
}
