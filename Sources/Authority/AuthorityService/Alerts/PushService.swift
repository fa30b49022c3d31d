import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import ConfigurationFiles
import Cryptography
import HTTPClient
import Sessions
import Wire

/// Sends alerts to browsers, encrypted so that their push service cannot read them.
///
/// Source: RFC 8030 §5; RFC 8291; RFC 8292.
struct PushService: Sendable {
    let authority: Authority
    let store: any ServiceStore
    let settings: PushSettings
    let publicURL: String
    let trust: @Sendable () -> HTTPTrust?

    private static let connectLimit = Duration.seconds(5)
    private static let limit = Duration.seconds(10)
    /// How long a push service keeps a message for a browser that is away, in seconds.
    private static let life = 86_400
    /// How long a token is valid, in seconds; a day at most. Source: RFC 8292 §2.
    private static let tokenLife: Int64 = 43_200

    /// Sends a notice once to each browser that may have it. Returns the first failure in words;
    /// nil if none is left.
    func send(_ notice: AlertNotice, of alert: Alert) async -> String? {
        do throws(AuthorityError) {
            let receivers = try await authority.pushReceivers(of: alert)
            guard !receivers.isEmpty else { return nil }
            let key = try await ownKey()
            return await withTaskGroup(of: String?.self) { group in
                for receiver in receivers {
                    group.addTask { await self.send(notice, to: receiver, key) }
                }
                var failure: String?
                for await one in group { failure = failure ?? one }
                return failure
            }
        } catch {
            return error.words
        }
    }

    private func send(
        _ notice: AlertNotice, to receiver: PushSubscription, _ key: P256PrivateKey
    ) async -> String? {
        guard settings.permits(receiver.endpoint) else { return await forget(receiver) }
        guard let trust = self.trust() else { return "ca_file cannot be read" }
        do {
            let browser = try PushKeys(point: receiver.point, secret: receiver.secret)
            var request = HTTPRequest(
                "POST", receiver.endpoint, headers: [
                    ("Authorization", try vapid(for: receiver.endpoint, key, at: systemClock())),
                    ("Content-Encoding", "aes128gcm"),
                    ("Content-Type", "application/octet-stream"), ("TTL", "\(Self.life)"),
                    ("Urgency", notice.isOpen ? "high" : "normal"),
                    // A later message about the alert replaces one that waits. Source: RFC 8030
                    // §5.4.
                    ("Topic", String(notice.id.filter { $0 != "-" }.prefix(32))),
                ], body: try PushEncryption.seal(notice.pushForm.bytes, to: browser))
            (request.connectLimit, request.limit) = (Self.connectLimit, Self.limit)
            (request.answerLimit, request.trust) = (64 * 1024, trust)
            let answer = try await request.answer()
            switch answer.status {
            case 200..<300: return nil
            // The browser is gone. Source: RFC 8030 §7.3.
            case 404, 410: return await forget(receiver)
            default: return "HTTP: status \(answer.status)"
            }
        } catch let failure as HTTPFailure {
            return AlertChannels.words(of: failure)
        } catch {
            return "the message could not be encrypted"
        }
    }

    private func forget(_ receiver: PushSubscription) async -> String? {
        do throws(AuthorityError) {
            try await authority.forget(receiver)
            return nil
        } catch {
            return error.words
        }
    }

    /// Source: RFC 8292 §2 and §3.
    func vapid(
        for endpoint: String, _ key: P256PrivateKey, at now: Timestamp
    ) throws(CryptographyError) -> String {
        let parts = endpoint.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        var claims: [String: JSONValue] = [
            "aud": .string(parts.prefix(3).joined(separator: "/")),
            "exp": .integer(now.seconds + Self.tokenLife),
        ]
        if publicURL.hasPrefix("https://") { claims["sub"] = .string(publicURL) }
        let header = JSONValue.object(["typ": .string("JWT"), "alg": .string("ES256")])
        let text = [header, .object(claims)].map { Base64URL.encode($0.bytes) }
            .joined(separator: ".")
        let signature = Base64URL.encode(try key.sign(Array(text.utf8)))
        return "vapid t=\(text).\(signature), k=\(Base64URL.encode(key.publicPoint))"
    }

    private func ownKey() async throws(AuthorityError) -> P256PrivateKey {
        let record = try await record()
        do throws(CryptographyError) { return try P256PrivateKey(pem: record.privateKey) } catch {
            throw .failed(layer: "crypto", text: error.words)
        }
    }

    /// The key of all authorities on this store. The first that needs it makes it; if two need it
    /// at once, one of them does.
    private func record() async throws(AuthorityError) -> KeyRecord {
        let found = try await store.read { transaction throws(AuthorityError) in
            try transaction.keys().first { $0.kind == .push }
        }
        if let found { return found }
        let fresh: KeyRecord
        do throws(CryptographyError) { fresh = try KeyRing.pushKey(at: systemClock()) } catch {
            throw .failed(layer: "crypto", text: error.words)
        }
        return try await store.transact { transaction throws(AuthorityError) in
            if let other = try transaction.keys().first(where: { $0.kind == .push }) {
                return other
            }
            try transaction.insert(fresh)
            return fresh
        }
    }
}

extension PushService: PushDesk {
    func publicKey() async throws(AuthorityError) -> [UInt8] { try await record().publicKey }

    func permits(_ endpoint: String) -> Bool { settings.permits(endpoint) }

    func subscription(by caller: Caller) async throws(AuthorityError) -> PushSubscription? {
        try await authority.pushSubscription(by: caller)
    }

    func subscribe(_ order: PushOrder, by caller: Caller) async throws(AuthorityError) {
        try await authority.subscribe(order, by: caller)
    }

    func unsubscribe(by caller: Caller) async throws(AuthorityError) {
        try await authority.unsubscribe(by: caller)
    }
}
