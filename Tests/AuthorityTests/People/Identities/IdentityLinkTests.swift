import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Linked identity", .everyStore)
struct IdentityLinkTests {
    @Test("is another way to log in, for its user alone")
    func link() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let bob = try await house.addUser("bob")
        try await authority.link(provider.proof(of: "b", house), from: "x", by: bob)
        // The same again changes nothing.
        try await authority.link(provider.proof(of: "b", house), from: "x", by: bob)
        #expect(try await authority.enter(provider.proof(of: "b", house)).user == bob.user)
        #expect(try await authority.identities(by: bob).map(\.subject) == ["b"])
        let ada = try await house.login()
        #expect(try await authority.identities(by: ada).isEmpty)
        // It is somebody's already; and he is one person there.
        await expectRefusal(.validation) {
            try await authority.link(provider.proof(of: "b", house), from: "x", by: ada)
        }
        await expectRefusal(.validation) {
            try await authority.link(provider.proof(of: "c", house), from: "x", by: bob)
        }
        #expect(try await house.audit("identity.linked").map(\.actor) == ["bob"])
    }

    @Test("is given up, unless it is the last way to log in")
    func unlink() async throws {
        let house = try await House()
        let first = try IDProvider("first")
        let second = try IDProvider("second")
        let check = IDTokenCheck(testing: [first.name: first.place, second.name: second.place])
        let authority = house.believing([first.rule(), second.rule()], check)
        let bob = try await house.addUser("bob")
        try await authority.link(first.proof(of: "b", house), from: "x", by: bob)
        try await authority.unlink(first.name, by: bob)
        await expectRefusal(.notFound) { try await authority.unlink(first.name, by: bob) }
        #expect(try await house.audit("identity.unlinked").map(\.detail) == ["first"])

        let eve = try await authority.enter(first.proof(of: "e", house))
        let caller = try await authority.caller(eve.token)
        await expectRefusal(.validation) { try await authority.unlink(first.name, by: caller) }
        try await authority.link(second.proof(of: "e2", house), from: "x", by: caller)
        // What is not configured any more is no way to log in.
        let alone = house.believing([first.rule()], check)
        await expectRefusal(.validation) { try await alone.unlink(first.name, by: caller) }
        try await authority.unlink(first.name, by: caller)
        #expect(try await authority.identities(by: caller).map(\.subject) == ["e2"])
        #expect(try await authority.enter(second.proof(of: "e2", house)).user == eve.user)
    }

    @Test("is none of a restricted session's")
    func restricted() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let ada = try await house.login()
        try await authority.link(provider.proof(of: "a", house), from: "x", by: ada)
        let device = try await house.device(by: ada).caller
        #expect(try await authority.identities(by: device).isEmpty)
        let proof = try provider.proof(of: "d", house)
        await expectRefusal(.forbidden) { try await authority.link(proof, from: "x", by: device) }
        await expectRefusal(.forbidden) { try await authority.unlink(provider.name, by: device) }
        #expect(try await authority.identities(by: ada).map(\.subject) == ["a"])
        // It spent nothing and counted nothing.
        _ = try await authority.enter(proof)
        try await authority.revoke(device.session.objectID, by: ada)
        await expectRefusal(.invalidSession) {
            try await authority.link(provider.proof(of: "d", house), from: "x", by: device)
        }
    }
}
