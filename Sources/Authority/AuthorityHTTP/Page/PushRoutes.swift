package import AuthorityCore
import Cryptography
import Hummingbird
import Sessions
import Wire

/// Keeps the browsers that get alerts.
package protocol PushDesk: Sendable {
    /// The public key of this authority, which a browser gives to its push service.
    func publicKey() async throws(AuthorityError) -> [UInt8]
    /// Whether messages may be sent to this address.
    func permits(_ endpoint: String) -> Bool
    /// The subscription of the caller's session.
    func subscription(by caller: Caller) async throws(AuthorityError) -> PushSubscription?
    func subscribe(_ order: PushOrder, by caller: Caller) async throws(AuthorityError)
    func unsubscribe(by caller: Caller) async throws(AuthorityError)
}

/// Alerts on this phone: the subscription of one login. Source: W3C Push API.
struct PushRoutes: Sendable {
    let desk: (any PushDesk)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/push", .session(subscription)),
            HTTPRoute(.put, "/push", .session(subscribe)),
            HTTPRoute(.delete, "/push", .session(unsubscribe)),
        ]
    }

    /// `{"key", "endpoint"}`. No key: this authority sends nothing to browsers.
    private func subscription(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        guard let desk else { return Answer(["key": .null, "endpoint": .null]) }
        let present = try await desk.subscription(by: caller)
        return Answer([
            "key": .string(Base64URL.encode(try await desk.publicKey())),
            "endpoint": present.map { .string($0.endpoint) } ?? .null,
        ])
    }

    /// `{"endpoint", "keys": {"p256dh", "auth"}}`, as a browser's `PushSubscriptionJSON`.
    private func subscribe(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let desk = try present()
        let json = try call.json()
        let order = try reading { () throws(WireError) -> PushOrder in
            let keys = try json.object("keys")
            return PushOrder(
                endpoint: try json.string("endpoint"),
                point: try keys.parsed("p256dh") { Base64URL.decode($0) },
                secret: SecretBytes(try keys.parsed("auth") { Base64URL.decode($0) }))
        }
        guard desk.permits(order.endpoint) else {
            throw .refused(Refusal(
                .validation, "this authority sends no alerts to the push service of this browser; "
                    + "an administrator can add it to push_services"))
        }
        do throws(CryptographyError) {
            _ = try PushKeys(point: order.point, secret: order.secret)
        } catch {
            throw .refused(Refusal(.validation, "these are no keys of a browser"))
        }
        try await desk.subscribe(order, by: caller)
        return Answer([:])
    }

    private func unsubscribe(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        try await present().unsubscribe(by: caller)
        return Answer([:])
    }

    private func present() throws(AuthorityError) -> any PushDesk {
        guard let desk else {
            throw .refused(Refusal(.forbidden, "this authority sends no alerts to browsers"))
        }
        return desk
    }
}
