import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("Custom fields", .everyStore)
struct CustomFieldTests {
    @Test("that are the authority's to say are ignored wherever a client sends them")
    func readOnly() async throws {
        let house = try await House()
        let ada = try await house.login()
        var sent = Dictionary(
            uniqueKeysWithValues: CustomFields.readOnly.map { ($0, JSONValue.string("r:evil")) })
        sent["restricted"] = .bool(false)
        sent["_session_token"] = .string("r:evil")
        sent["place"] = .string("porch")
        let made = try await house.device(by: ada, custom: sent)
        let id = made.caller.session.objectID
        #expect(made.caller.session.custom == ["place": .string("porch")])
        #expect(made.caller.session.restricted)
        for caller in [ada, made.caller] {
            var sent = sent
            if caller == made.caller { sent["place"] = nil }
            let view = try await house.authority.update(
                id, with: SessionDraft(installation: nil, custom: sent), by: caller)
            #expect(view.session == made.caller.session)
        }
        let board = try BoardDouble()
        let live = try await house.provisioned(
            board, by: ada,
            order: ClaimOrder(url: board.url(), duration: nil, scope: nil, custom: sent))
        #expect(live.provision.session.custom == ["place": .string("porch")])
        #expect(live.provision.session.restricted)
    }

    @Test("are kept, changed and taken away, and their board hears of it")
    func changed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(
            board, by: ada,
            order: ClaimOrder(
                url: board.url(), duration: nil, scope: nil,
                custom: ["a": .integer(1), "b": .null]))
        _ = try await house.settle(board)
        let view = try await house.authority.update(
            live.session,
            with: SessionDraft(installation: nil, custom: [
                "a": .object(["__op": .string("Delete")]), "c": .array([.bool(true)]),
            ]), by: ada)
        #expect(view.session.custom == ["b": .null, "c": .array([.bool(true)])])
        let said = try #require(try await house.settle(board).first)
        guard case .updated(_, let session, _) = try board.open(said, from: live.sealKey).body
        else { throw NotThat() }
        #expect(session.custom == view.session.custom)
        #expect(try await live.authenticate().result?.session?.custom == view.session.custom)
    }

    @Test("are not a restricted session's to take away either")
    func restricted() async throws {
        let house = try await House()
        let device = try await house.device(
            by: try await house.login(), custom: ["place": .string("porch")])
        await expectRefusal(.forbidden) {
            try await house.authority.update(
                device.caller.session.objectID,
                with: SessionDraft(installation: nil, custom: [
                    "place": .object(["__op": .string("Delete")]),
                ]), by: device.caller)
        }
    }

    private static func nested(_ levels: Int) -> JSONValue {
        (0..<levels).reduce(.null) { value, _ in .array([value]) }
    }

    @Test("that change nothing leave no trace in the audit log")
    func nothingNew() async throws {
        let house = try await House()
        let device = try await house.device(by: try await house.login())
        let before = try await house.audit("session.updated").count
        _ = try await house.authority.update(
            device.caller.session.objectID, with: SessionDraft(installation: nil, custom: [:]),
            by: device.caller)
        #expect(try await house.audit("session.updated").count == before)
    }

    @Test("are bounded", arguments: [
        (["x": nested(8)], nil), (["x": nested(9)], .validation),
        (["x": .object(["y": nested(8)])], .validation),
        (["x": .string(String(repeating: "a", count: 4088))], nil),
        (["x": .string(String(repeating: "a", count: 4089))], .tooLarge),
        (["": .null], .badKeyName), (["9a": .null], .badKeyName), (["a.b": .null], .badKeyName),
        (["a\u{301}": .null], .badKeyName),
        (["x": .object(["__op": .string("Increment")])], .wrongType),
        (["x": .object(["__op": .string("AddRelation")])], .forbidden),
        (["__proto__": .null], .badKeyName), (["constructor": .null], .badKeyName),
        (["prototype": .null], .badKeyName),
        (["x": .array([.object(["__proto__": .null])])], .badKeyName),
        (["x": .object(["y": .object(["constructor": .null])])], .badKeyName),
        (["constructors": .null], nil), (["x": .string("__proto__")], nil),
        (Dictionary(uniqueKeysWithValues: (0..<32).map { ("k\($0)", .null) }), nil),
        (Dictionary(uniqueKeysWithValues: (0..<33).map { ("k\($0)", .null) }), .validation),
    ] as [([String: JSONValue], ErrorCode?)])
    func bounds(sent: [String: JSONValue], code: ErrorCode?) async throws {
        guard let code else {
            #expect(try CustomFields(sent).members == sent)
            return
        }
        await expectRefusal(code) { try CustomFields(sent) }
    }

    @Test("are bounded with those that were there before")
    func together() async throws {
        let old = Dictionary(uniqueKeysWithValues: (0..<32).map { ("k\($0)", JSONValue.null) })
        await expectRefusal(.validation) { try CustomFields(["more": .null], over: old) }
        #expect(try CustomFields(["k1": .bool(true)], over: old).members.count == 32)
    }
}
