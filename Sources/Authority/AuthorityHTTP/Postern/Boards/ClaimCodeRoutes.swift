import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Claims by a short code. A board has no login: its secret `poll` says which code is its own.
///
/// Source: the wire contract, The short code.
struct ClaimCodeRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/claim-codes", .open(ask)),
            HTTPRoute(.post, "/claim-codes/poll", .open(poll)),
            HTTPRoute(.post, "/claim-codes/confirm", .open(confirm)),
            HTTPRoute(.post, "/claim-codes/show", .session(show)),
            HTTPRoute(
                .post, "/claim-codes/claim", bodyLimit: HTTPRoute.largeBody, .session(claim)),
            HTTPRoute(.post, "/claim-codes/progress", .session(progress)),
        ]
    }

    /// `{"installationId", "deviceKey", "name"}`.
    private func ask(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let order = try reading { () throws(WireError) in
            guard let order = ClaimCodeOrder(
                installation: try json.parsed("installationId", InstallationID.init),
                deviceKey: try json.bytes("deviceKey", count: 32), name: try json.string("name"),
                origin: call.origin)
            else { throw .mistyped("name") }
            return order
        }
        let opened = try await frontend.openClaimCode(order)
        return Answer(.created, [
            "code": .string(opened.code.description), "poll": .string(opened.secret.reveal()),
            "expiresIn": .integer(opened.life.components.seconds),
            "interval": .integer(opened.interval.components.seconds),
        ])
    }

    /// `{"poll"}`.
    private func poll(_ call: Call) async throws(AuthorityError) -> Answer {
        return switch try await frontend.claimCodeState(try secret(in: try call.json())) {
        case .waiting: Answer(["state": .string("waiting")])
        case .named(let username, let authority): Answer([
            "state": .string("named"), "username": .string(username),
            "authority": .string(authority),
        ])
        case .claimed: Answer(["state": .string("claimed")])
        }
    }

    /// `{"poll", "claimSecret"}`, or `{"poll", "refuse": true}`.
    private func confirm(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let code = try secret(in: json)
        let refuses = try reading { () throws(WireError) in
            try json.optional("refuse") { $0.asBool } ?? false
        }
        if refuses {
            try await frontend.refuseClaimCode(code)
            return Answer(["state": .string("refused")])
        }
        let claimSecret = try reading { () throws(WireError) in
            SecretBytes(try json.bytes("claimSecret", count: 32))
        }
        let claim = try await frontend.confirmClaimCode(code, claimSecret)
        return Answer([
            "state": .string("claimed"), "claimId": .string(claim.id.description),
            "expiresAt": .time(claim.expiresAt),
        ])
    }

    /// `{"code"}`.
    private func show(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.claimCode(try typed(in: try call.json(), call), by: caller).form)
    }

    /// `{"code"}` and the terms of `POST /claims`.
    private func claim(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let named = try await frontend.nameClaimCode(
            try typed(in: json, call), try ClaimTerms(json: json), by: caller)
        return Answer(named.form)
    }

    /// `{"code"}`.
    private func progress(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let typed = try typed(in: try call.json(), call)
        return switch try await frontend.claimCodeProgress(typed, by: caller) {
        case .waiting: Answer(["state": .string("waiting")])
        case .named: Answer(["state": .string("named")])
        case .claimed(let claim): Answer([
            "state": .string("claimed"), "claim": .object(claim.form),
        ])
        case .refused: Answer(["state": .string("refused")])
        }
    }

    private func secret(in json: JSONObject) throws(AuthorityError) -> DeviceCode {
        try reading { () throws(WireError) in try json.parsed("poll", DeviceCode.init) }
    }

    private func typed(in json: JSONObject, _ call: Call) throws(AuthorityError) -> TypedCode {
        let code = try reading { () throws(WireError) in
            try json.parsed("code") { UserCode($0) }
        }
        return TypedCode(code, origin: call.origin)
    }
}

extension ClaimCodeView {
    fileprivate var form: [String: JSONValue] {
        [
            "code": .string(code.description), "boardName": .string(boardName),
            "installationId": .string(installation.description),
            "fingerprint": .string(fingerprint.description), "endsAt": .time(endsAt),
        ]
    }
}
