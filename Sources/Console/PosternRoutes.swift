import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// What Parse has no words for: claims, boards, the audit log, the broker.
struct PosternRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// Where Parse's API stands, for clients that ask.
    let parseMount: String

    var routes: [Route] {
        let accounts = AccountRoutes(frontend: frontend).routes
        let own = [
            Route(.get, "/info", .open(info)),
            Route(.get, "/health", .open { _ in Answer(["status": .string("ok")]) }),
            Route(.post, "/claims", bodyLimit: Route.largeBody, .session(startClaim)),
            Route(.get, "/claims/:id", .session(claim)),
            Route(.get, "/boards", .session(boards)),
            Route(.delete, "/boards/:iid", .session(release)),
            Route(.get, "/audit", .session(audit)),
            Route(.post, "/broker", .session(broker)),
        ]
        let explain = ExplainRoutes(frontend: frontend).routes
        return (own + accounts + explain).map { $0.under("/postern/v1") }
    }

    private func info(_ call: Call) async throws(AuthorityError) -> Answer {
        var members = frontend.info.form
        members["parsePath"] = .string(parseMount)
        return Answer(members)
    }

    private func startClaim(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let order = try ClaimOrder(json: try call.json())
        let claim = try await frontend.claim(order, by: caller)
        var answer = Answer(.created, claim.form)
        answer.headers[.location] = "/postern/v1/claims/\(claim.id)"
        return answer
    }

    private func claim(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.claim(try call.parameter("id", MessageID.init), by: caller).form)
    }

    private func boards(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let boards = try await frontend.boards(by: caller, everyone: try call.everyone())
        return .results(boards.map { .object($0.form) })
    }

    private func release(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.release(try call.parameter("iid", InstallationID.init), by: caller)
        return Answer([:])
    }

    private func audit(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let limit = try call.queried("limit") { text in
            Int(text).flatMap { (1...1000).contains($0) ? $0 : nil }
        }
        let query = AuditQuery(
            limit: limit ?? 100, board: try call.queried("board", InstallationID.init))
        return .results(try await frontend.audit(query, by: caller).map { .object($0.form) })
    }

    private func broker(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.brokerLogin(by: caller).form)
    }
}
