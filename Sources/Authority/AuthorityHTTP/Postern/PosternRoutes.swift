import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Postern's own API, for everything that Parse's API does not have: claims, boards, the audit log,
/// live data, the broker.
struct PosternRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// The path of Parse's API, for clients that ask for it.
    let parseMount: String
    var live: (any LiveFeed)?
    /// Nil: the authority keeps no data.
    var data: (any DataStore)?
    /// The authority's own CA, PEM.
    var ownCA: String?
    var askingBroker: AskingBroker?
    var readiness = Readiness()
    /// Nil: this process sends no alerts.
    var alertTest: (any AlertTest)?
    /// Nil: no alerts go to browsers.
    var push: (any PushDesk)?

    var routes: [HTTPRoute] {
        let parts = AccountRoutes(frontend: frontend).routes
            + PasskeyRoutes(frontend: frontend).routes
            + LoginRequestRoutes(frontend: frontend).routes
            + ProviderRoutes(frontend: frontend).routes
            + ClaimRoutes(frontend: frontend).routes
            + ClaimCodeRoutes(frontend: frontend).routes
            + PreparedClaimRoutes(frontend: frontend).routes
            + BoardRoutes(frontend: frontend, live: live, data: data).routes
            + ShareRoutes(frontend: frontend).routes
            + SeriesRoutes(frontend: frontend, live: live, data: data).routes
            + DataRoutes(frontend: frontend, data: data).routes
            + FormerBoardRoutes(frontend: frontend, data: data).routes
            + CommandRoutes(frontend: frontend).routes
            + ExplainRoutes(frontend: frontend).routes
            + AuditRoutes(frontend: frontend).routes
            + OwnSessionRoutes(frontend: frontend).routes
            + AlertRoutes(frontend: frontend, test: alertTest).routes
            + PushRoutes(desk: push).routes
            + ConsumerRoutes(frontend: frontend).routes
            + EventRoutes(frontend: frontend, live: live).routes
            + BrokerRoutes(broker: askingBroker).routes
        let own = [
            HTTPRoute(.get, "/info", .open(info)),
            HTTPRoute(.get, "/health", .open(health)),
            HTTPRoute(.get, "/ca", .open(authorityCertificate)),
            HTTPRoute(.post, "/broker", .session(broker)),
        ]
        return (own + parts).map { $0.under("/postern/v1") }
    }

    private func info(_ call: Call) async throws(AuthorityError) -> Answer {
        var members = frontend.info.form
        members["parsePath"] = .string(parseMount)
        members["login"] = frontend.loginWays.form
        return Answer(members)
    }

    /// For load balancers: 503 if requests should go elsewhere.
    private func health(_ call: Call) async throws(AuthorityError) -> Answer {
        let word = await readiness.word()
        let status = word == .ok ? HTTPResponse.Status.ok : .serviceUnavailable
        var members = ["status": JSONValue.string(word.rawValue)]
        if readiness.isDataWaiting() { members["data"] = .string("waiting") }
        return Answer(status, members)
    }

    /// The authority's CA, as public as the server's own certificate. The client cannot trust this
    /// answer yet, so it must compare the CA's fingerprint.
    private func authorityCertificate(_ call: Call) throws(AuthorityError) -> Answer {
        guard let ownCA else { throw .noObject }
        return Answer(certificate: ownCA)
    }

    private func broker(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.brokerLogin(by: caller).form)
    }
}
