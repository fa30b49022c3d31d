import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// What Parse has no words for: claims, boards, the audit log, live data, the broker.
struct PosternRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// Where Parse's API stands, for clients that ask.
    let parseMount: String
    var live: (any LiveFeed)?
    /// The authority's own CA, PEM.
    var ownCA: String?
    var askingBroker: AskingBroker?
    var readiness = Readiness()

    var routes: [Route] {
        let parts = AccountRoutes(frontend: frontend).routes
            + BoardRoutes(frontend: frontend, live: live).routes
            + ExplainRoutes(frontend: frontend).routes
            + AuditRoutes(frontend: frontend).routes
            + OwnSessionRoutes(frontend: frontend).routes
            + EventRoutes(frontend: frontend, live: live).routes
            + BrokerRoutes(broker: askingBroker).routes
        let own = [
            Route(.get, "/info", .open(info)),
            Route(.get, "/health", .open(health)),
            Route(.get, "/ca", .open(authorityCertificate)),
            Route(.post, "/claims", bodyLimit: Route.largeBody, .session(startClaim)),
            Route(.get, "/claims/:id", .session(claim)),
            Route(.post, "/broker", .session(broker)),
        ]
        return (own + parts).map { $0.under("/postern/v1") }
    }

    private func info(_ call: Call) async throws(AuthorityError) -> Answer {
        var members = frontend.info.form
        members["parsePath"] = .string(parseMount)
        return Answer(members)
    }

    /// For load balancers: 503 where requests should go elsewhere.
    private func health(_ call: Call) async throws(AuthorityError) -> Answer {
        let word = await readiness.word()
        let status = word == .ok ? HTTPResponse.Status.ok : .serviceUnavailable
        return Answer(status, ["status": .string(word.rawValue)])
    }

    /// It is as public as the server's own certificate; whoever takes it compares its
    /// fingerprint, since nothing vouches for this answer yet.
    private func authorityCertificate(_ call: Call) throws(AuthorityError) -> Answer {
        guard let ownCA else { throw .noObject }
        return Answer(certificate: ownCA)
    }

    private func startClaim(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let order = try ClaimOrder(json: try call.json())
        let claim: Claim
        do throws(AuthorityError) {
            claim = try await frontend.claim(order, by: caller)
        } catch {
            return Answer(claim: error)
        }
        var answer = Answer(.created, claim.form)
        answer.headers[.location] = "/postern/v1/claims/\(claim.id)"
        return answer
    }

    private func claim(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.claim(try call.parameter("id", MessageID.init), by: caller).form)
    }

    private func broker(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.brokerLogin(by: caller).form)
    }
}

extension Answer {
    /// A claim that failed between authority and board has a name, as refusals have.
    fileprivate init(claim error: AuthorityError) {
        self.init(error)
        guard case .failed(let layer, _) = error, fault == nil, layer != "crypto",
            case .json(.object(var members)) = content
        else { return }
        members["name"] = .string(Refusal.Name.brokerAway.description)
        content = .json(.object(members))
    }
}
