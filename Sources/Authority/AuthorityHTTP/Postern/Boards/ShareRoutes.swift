import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Shares of a board: the list, invitations, and their end.
struct ShareRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/boards/:iid/shares", .session(shares)),
            HTTPRoute(.delete, "/boards/:iid/shares/:id", .session(endShare)),
            HTTPRoute(.post, "/boards/:iid/invitations", .session(invite)),
            HTTPRoute(.delete, "/boards/:iid/invitations/:id", .session(endInvitation)),
            HTTPRoute(.post, "/invitations/show", .session(show)),
            HTTPRoute(.post, "/invitations/accept", .session(accept)),
        ]
    }

    private func shares(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let found = try await frontend.shares(of: try board(in: call), by: caller)
        return Answer([
            "shares": .array(found.shares.map { .object($0.form) }),
            "invitations": .array(found.invitations.map { .object($0.form) }),
        ])
    }

    private func endShare(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.endShare(
            try call.parameter("id", ObjectID.init), of: try board(in: call), by: caller)
        return Answer([:])
    }

    /// `{"right", "classes"?: [text], "until"?: seconds since the epoch,
    /// "durationSeconds"?: n}`. At most one of the last two. Only this answer has the secret, in
    /// the link.
    private func invite(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try board(in: call)
        let json = try call.json()
        let (terms, span) = try reading { () throws(WireError) in
            let terms = try ShareTerms(json: json)
            let span = try json.optional("durationSeconds") { value in
                value.asInteger.flatMap { Self.spans.contains($0) ? Duration.seconds($0) : nil }
            }
            guard terms.until == nil || span == nil else { throw .mistyped("durationSeconds") }
            return (terms, span)
        }
        let made = try await frontend.invite(to: board, terms, lasting: span, by: caller)
        return Answer(.created, [
            "id": .string(made.id.description), "url": .string(made.url),
            "expiresAt": .time(made.expiresAt),
        ])
    }

    private static let spans = 1...ShareLimit.life.components.seconds

    private func endInvitation(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        try await frontend.endInvitation(
            try call.parameter("id", ObjectID.init), to: try board(in: call), by: caller)
        return Answer([:])
    }

    /// `{"secret"}`, in the body, so that it is in no log of a proxy.
    private func show(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let found = try await frontend.invitation(try use(of: call), by: caller)
        return Answer(found.terms.form.merging([
            "name": .string(found.boardName), "by": .string(found.owner),
            "present": found.present.map { .object($0.form) } ?? .null,
            "expiresAt": .time(found.expiresAt),
        ]) { $1 })
    }

    private func accept(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let found = try await frontend.accept(try use(of: call), by: caller)
        return Answer([
            "installationId": .string(found.board.description), "name": .string(found.boardName),
        ])
    }

    private func board(in call: Call) throws(AuthorityError) -> InstallationID {
        try call.parameter("iid", InstallationID.init)
    }

    private func use(of call: Call) throws(AuthorityError) -> InvitationUse {
        let json = try call.json()
        let secret = try reading { () throws(WireError) in
            try json.parsed("secret") { InvitationSecret($0) }
        }
        return InvitationUse(secret, origin: call.origin)
    }
}

extension ShareTerms {
    fileprivate init(json: JSONObject) throws(WireError) {
        self.init(
            right: try json.parsed("right", ShareRight.init(rawValue:)),
            classes: try json.optional("classes") { $0.list { ClassName($0) } },
            until: try json.optional("until") {
                $0.asInteger.flatMap(Timestamp.init(seconds:))
            })
    }

    fileprivate var form: [String: JSONValue] {
        [
            "right": .string(right.rawValue),
            "classes": classes.map { .array($0.map { .string($0.description) }) } ?? .null,
            "until": .optionalTime(until),
        ]
    }

    fileprivate func form(
        _ id: ObjectID, at time: Timestamp, _ members: [String: JSONValue]
    ) -> [String: JSONValue] {
        form.merging(["id": .string(id.description), "createdAt": .time(time)]) { $1 }
            .merging(members) { $1 }
    }
}

extension ShareRecord {
    /// The member `shared` of a board. `by` is its owner.
    func form(by owner: String) -> [String: JSONValue] {
        terms.form.merging(["id": .string(id.description), "by": .string(owner)]) { $1 }
    }
}

extension BoardShares.Entry {
    fileprivate var form: [String: JSONValue] {
        share.terms.form(share.id, at: share.createdAt, ["user": .string(username)])
    }
}

extension InvitationRecord {
    /// Without the secret, which nobody has but the link.
    fileprivate var form: [String: JSONValue] {
        terms.form(id, at: createdAt, ["expiresAt": .time(expiresAt)])
    }
}
