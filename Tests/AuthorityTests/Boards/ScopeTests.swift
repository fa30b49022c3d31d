import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Scope", .everyStoreInLong)
struct ScopeTests {
    @Test("that would open what is the contract's own is refused", arguments: [
        (##"{"rules":[{"class":"_User","allow":["create"]}]}"##, 119),
        (##"{"rules":[{"class":"_Anything","allow":["update"]}]}"##, 119),
        (##"{"topics":["#"]}"##, 119), (##"{"topics":["+/#"]}"##, 119),
        (##"{"topics":["postern/v1/x"]}"##, 119), (##"{"topics":["postern/+/x/outbox"]}"##, 119),
        (##"{"topics":["+/v1/+/inbox"]}"##, 119), (##"{"topics":["postern/#"]}"##, 119),
        (#"{"defalt":"deny"}"#, 142), (#"{"rules":[{"class":"A","allow":[],"rate":"1/s"}]}"#, 142),
        (##"{"topics":["$SYS/x"]}"##, 119), (##"{"topics":["$share/authority/x"]}"##, 119),
        (##"{"topics":["$CONTROL/dynamic-security/v1"]}"##, 119),
        (##"{"topics":["a/b#"]}"##, 119), (##"{"topics":[""]}"##, 119),
        (##"{"default":"maybe"}"##, 111), (##"{"default":1}"##, 111), (##"{"rules":{}}"##, 111),
        (##"{"rules":[{"class":"Reading"}]}"##, 142),
        (##"{"rules":[{"class":"Reading","allow":["read"]}]}"##, 111),
        (##"{"rules":[{"class":"Rea/ding","allow":[]}]}"##, 111),
        (##"{"rules":[{"class":"*","allow":[],"app":"../x"}]}"##, 111),
        (##"{"topics":"x"}"##, 111),
    ])
    func refused(text: String, code: Int) async throws {
        let house = try await House()
        let ada = try await house.login()
        let scope = ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
        do {
            _ = try await house.claim(BoardDouble(), by: ada, scope: scope)
            Issue.record("it was not refused")
        } catch AuthorityError.refused(let refusal) {
            #expect(refusal.code == code, "\(refusal)")
        }
    }

    @Test("reaches provisioning, token, heartbeat and the broker's role")
    func carried() async throws {
        let house = try await House()
        let ada = try await house.login()
        let text = #"{"default":"deny","rules":[{"class":"Reading","allow":["create"]}],"#
            + #""topics":["home/+/state"]}"#
        let scope = ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
        let live = try await house.provisioned(BoardDouble(), by: ada, scope: scope)
        #expect(live.provision.scope == scope)
        #expect(try await live.authenticate().result?.scope == scope)
        let token = try JWS.parse(live.provision.tokens.access.reveal())
        #expect(try AccessTokenClaims(parsing: token.payload).scope == scope)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login?.extraTopics == ["home/+/state"])
    }

    @Test("grants no topic on which only the authority announces sensors", arguments: [
        "homeassistant/#", "+/sensor/+/x/config", "homeassistant/sensor/x/y/config", "+/#",
    ])
    func announcements(topic: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        func scope(_ topics: [String]) -> ScopeDocument {
            ScopeDocument(unchecked: .object(["topics": .array(topics.map { .string($0) })]))
        }
        let authority = house.announcing()
        let board = try BoardDouble()
        await expectRefusal(.forbidden) {
            _ = try await authority.claim(
                ClaimOrder(url: board.url(), duration: nil, scope: scope([topic])), by: ada)
        }
        // A scope from before has no effect beyond its other topics.
        guard topic != "+/#" else { return }
        let state = "homeassistant/light/hall/state"
        let live = try await house.provisioned(
            BoardDouble(), by: ada, scope: scope([topic, state]))
        let desired = try await authority.desiredState(for: live.board.installation)
        #expect(desired.login?.extraTopics == [state])
    }

    @Test("grants topics only from an administrator's hand")
    func topicsByOthers() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let text = #"{"topics":["home/+/state"]}"#
        let scope = ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
        await expectRefusal(.forbidden) {
            try await house.claim(BoardDouble(), by: bob, scope: scope)
        }
    }
}

@Suite("Access token", .everyStore)
struct AccessTokenTests {
    @Test("says whose it is, for how long, and bound to which key")
    func claims() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(
            BoardDouble(), by: ada, duration: .seconds(600))
        let token = try JWS.parse(live.provision.tokens.access.reveal())
        let header = try AccessTokenHeader(parsing: token.header)
        let pinned = live.provision.authority.signKeys
        #expect(pinned.map(\.kid) == [header.kid])
        let key = try Ed25519PublicKey(rawRepresentation: #require(pinned.first).key)
        #expect(token.isSigned(by: key))
        let claims = try AccessTokenClaims(parsing: token.payload)
        #expect(claims.issuer == "https://authority.example" && claims.restricted)
        #expect(claims.session == live.session)
        #expect(claims.installation == live.board.installation)
        #expect(claims.deviceKey == live.board.key.publicKey.keyID)
        #expect(claims.expiresAt == live.provision.session.expiresAt)
    }
}
