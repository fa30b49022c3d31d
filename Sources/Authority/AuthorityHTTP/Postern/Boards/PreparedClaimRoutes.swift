import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Prepared claims: make some, list them, accept the board of one, and end one.
struct PreparedClaimRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(
                .post, "/prepared-claims", bodyLimit: HTTPRoute.largeBody, .session(prepare)),
            HTTPRoute(.get, "/prepared-claims", .session(claims)),
            HTTPRoute(.post, "/prepared-claims/:id/accept", .session(accept)),
            HTTPRoute(.delete, "/prepared-claims/:id", .session(end)),
        ]
    }

    private func prepare(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let order = try reading { () throws(WireError) in try PreparedClaimOrder(json: json) }
        let made = try await frontend.prepareClaims(order, by: caller)
        return Answer(.created, ["claims": .array(made.map { .object($0.form) })])
    }

    private func claims(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let found = try await frontend.preparedClaims(by: caller)
        return Answer(["claims": .array(found.map { .object($0.form) })])
    }

    private func accept(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", InstallationID.init)
        do throws(AuthorityError) {
            let claim = try await frontend.acceptPreparedClaim(id, by: caller)
            var answer = Answer(.created, ["claim": .object(claim.form)])
            answer.headers[.location] = "/postern/v1/claims/\(claim.id)"
            return answer
        } catch {
            return Answer(claim: error)
        }
    }

    private func end(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", InstallationID.init)
        return Answer(isBrokerTold: try await frontend.endPreparedClaim(id, by: caller))
    }
}

extension PreparedClaimOrder {
    /// `{"count"?, "name"?, "scope"?, "durationSeconds"?, "expiresSeconds"?, "autoAccept"?,
    /// "labels"?, "broker"?, "ca"?}`.
    fileprivate init(json: JSONObject) throws(WireError) {
        let count = try json.optional("count") { $0.asInteger.flatMap(Int.init(exactly:)) }
        self.init(
            count: count ?? 1,
            name: try json.optional("name") { $0.asString.flatMap(PreparedName.init) } ?? .usual,
            scope: try json.optional("scope") { value in
                value.asObject == nil ? nil : ScopeDocument(unchecked: value)
            },
            duration: try json.optional("durationSeconds", Self.span),
            life: try json.optional("expiresSeconds", Self.span) ?? PreparedClaimLimit.usualLife,
            acceptsAtOnce: try json.optional("autoAccept") { $0.asBool } ?? false,
            labels: try json.optional("labels") { value in
                value.list(BoardLabel.init).map { Set($0) }
            } ?? [],
            broker: try json.optional("broker") { value in
                value.asString.flatMap { try? BrokerURI($0) }
            },
            ca: try json.optional("ca") { $0.asString })
    }

    /// The frontend has the limits.
    private static func span(_ value: JSONValue) -> Duration? {
        value.asInteger.flatMap { (1...Int64(Int32.max)).contains($0) ? .seconds($0) : nil }
    }
}

extension PreparedClaimView {
    var form: [String: JSONValue] {
        [
            "id": .string(id.description), "name": .string(name), "owner": .string(owner),
            "state": .string(state.rawValue), "createdAt": .time(createdAt),
            "expiresAt": .time(expiresAt), "autoAccept": .bool(acceptsAtOnce),
            "labels": .array(labels.map { .string($0.description) }),
            "board": board.map { .object($0.form) } ?? .null,
            "secondAt": .optionalTime(secondAt),
        ]
    }
}

extension PreparedClaimView.Board {
    fileprivate var form: [String: JSONValue] {
        [
            "installationId": .string(installation.description), "name": .string(name),
            "fingerprint": .string(fingerprint.description), "askedAt": .time(askedAt),
            "known": .bool(isKnown),
        ]
    }
}

extension NewPreparedClaim {
    /// Holds the file's secret. Only the caller gets it.
    fileprivate var form: [String: JSONValue] {
        var members = claim.form
        members["file"] = .object(file.members)
        return members
    }
}
