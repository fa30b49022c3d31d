import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Claims: start one, read one, list the open ones, and end one.
struct ClaimRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/claims", bodyLimit: HTTPRoute.largeBody, .session(start)),
            HTTPRoute(.get, "/claims", .session(openClaims)),
            HTTPRoute(.get, "/claims/:id", .session(claim)),
            HTTPRoute(.delete, "/claims/:id", .session(end)),
            HTTPRoute(.delete, "/boards/:iid/revocation", .session(forgetRevocation)),
            HTTPRoute(.post, "/boards/:iid/renew", .session(renew)),
        ]
    }

    private func start(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let order = try ClaimOrder(json: try call.json())
        return await made { () throws(AuthorityError) in
            try await frontend.claim(order, by: caller)
        }
    }

    /// `{"durationMinutes": n}`, optional.
    private func renew(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let json = call.body.isEmpty ? JSONObject([:]) : try call.json()
        let minutes = try reading { () throws(WireError) in
            try json.optional("durationMinutes") { $0.asInteger }
        }
        let duration = try minutes.map { minutes throws(AuthorityError) in
            guard (5...525_600).contains(minutes) else { throw .refused(.durationOutOfRange) }
            return Duration.seconds(minutes * 60)
        }
        return await made { () throws(AuthorityError) in
            try await frontend.renew(board, duration, by: caller)
        }
    }

    private func made(_ make: () async throws(AuthorityError) -> Claim) async -> Answer {
        do throws(AuthorityError) {
            let claim = try await make()
            var answer = Answer(.created, claim.form)
            answer.headers[.location] = "/postern/v1/claims/\(claim.id)"
            return answer
        } catch {
            return Answer(claim: error)
        }
    }

    /// `?everyone=true`, as in the list of boards.
    private func openClaims(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let claims = try await frontend.openClaims(by: caller, everyone: try call.everyone())
        return .results(claims.map { .object($0.form) })
    }

    private func claim(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.claim(try id(in: call), by: caller).form)
    }

    private func end(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(isBrokerTold: try await frontend.endClaim(try id(in: call), by: caller))
    }

    private func forgetRevocation(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        return Answer(
            isBrokerTold: try await frontend.forgetRevocation(of: board, by: caller))
    }

    private func id(in call: Call) throws(AuthorityError) -> MessageID {
        try call.parameter("id", MessageID.init)
    }
}

extension OpenClaim {
    var form: [String: JSONValue] {
        claim.form.merging([
            "name": .string(boardName), "claimant": .string(claimant), "createdAt": .time(madeAt),
        ]) { $1 }
    }
}

extension Answer {
    /// Adds a name to the error of a claim that failed on its way to the board, as refusals have
    /// one.
    init(claim error: AuthorityError) {
        self.init(error)
        guard case .failed(let layer, _) = error, fault == nil, layer != "crypto",
            case .json(.object(var members)) = content
        else { return }
        members["name"] = .string(Refusal.Name.brokerAway.description)
        content = .json(.object(members))
    }
}
