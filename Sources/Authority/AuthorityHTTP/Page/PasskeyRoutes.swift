import AuthorityCore
import Hummingbird
import Sessions
import WebAuthn
import Wire

/// A user's passkeys and recovery codes, and the confirmation of what cannot be undone.
struct PasskeyRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/passkeys/options", .sessionOrNone(options)),
            HTTPRoute(.get, "/passkeys", .session(passkeys)),
            HTTPRoute(.post, "/passkeys", bodyLimit: HTTPRoute.tokenBody, .session(add)),
            HTTPRoute(.put, "/passkeys/:id", .session(rename)),
            HTTPRoute(.delete, "/passkeys/:id", .session(remove)),
            HTTPRoute(.post, "/users/:name/recovery-code", .session(makeRecoveryCode)),
            HTTPRoute(
                .post, "/console/confirm", bodyLimit: HTTPRoute.tokenBody, .session(confirm)
            ).takingCredentials(),
        ]
    }

    /// `{"purpose"}`. The cookie of the answer must come back with the authenticator's answer.
    private func options(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        guard call.isFromOwnPage else { throw .notFromPage }
        let json = try call.json()
        let purpose = try reading { () throws(WireError) in
            try json.parsed("purpose", PasskeyPurpose.init(rawValue:))
        }
        let options = try await frontend.passkeyOptions(purpose, by: caller)
        var answer = Answer(["publicKey": .object(options.form)])
        answer.headers[.setCookie] = call.cookie.keeping(options)
        return answer
    }

    private func passkeys(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let ways = try await frontend.passkeys(by: caller)
        return Answer([
            "results": .array(ways.passkeys.map { .object($0.form) }),
            "password": .bool(ways.hasPassword),
            "providers": .array(ways.providers.map { .string($0.description) }),
            "recoveryCodeAt": .optionalTime(ways.recoveryCodeAt),
        ])
    }

    /// `{"name", "credential"}`.
    private func add(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let order = try reading { () throws(WireError) in
            PasskeyOrder(
                name: try json.passkeyName(),
                registration: try PasskeyRegistration(json: try json.object("credential")),
                visit: call.passkeyVisit, origin: call.origin)
        }
        return Answer(.created, try await frontend.addPasskey(order, by: caller).form)
    }

    /// `{"name"}`.
    private func rename(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let json = try call.json()
        let name = try reading { () throws(WireError) in try json.passkeyName() }
        return Answer(try await frontend.renamePasskey(id, to: name, by: caller).form)
    }

    private func remove(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.removePasskey(try call.parameter("id", ObjectID.init), by: caller)
        return Answer([:])
    }

    /// Only this answer holds the code.
    private func makeRecoveryCode(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let name = try call.parameter("name") { UsernameText($0)?.text }
        let code = try await frontend.makeRecoveryCode(of: name, by: caller)
        return Answer(.created, [
            "recoveryCode": .string(String(decoding: code.secret.reveal(), as: UTF8.self)),
        ])
    }

    /// `{"passkey"}` or `{"password"}`.
    private func confirm(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let proof: ConfirmationOrder.Proof
        if json.members["passkey"] ?? .null != .null {
            proof = .passkey(try call.passkeyProof(in: json))
        } else {
            proof = .password(
                try reading { () throws(WireError) in try json.secret("password") })
        }
        try await frontend.confirm(ConfirmationOrder(proof, origin: call.origin), by: caller)
        return Answer([:])
    }
}
