import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Roles", .everyStore)
struct RoleTests {
    private func acl(_ text: String) throws -> AccessList {
        try #require(AccessList(json: JSONValue(parsing: Array(text.utf8))))
    }

    private func make(
        _ house: House, _ name: String, _ text: String, users: [Caller] = [],
        roles: [RoleView] = [], by caller: Caller
    ) async throws -> RoleView {
        try await house.authority.makeRole(
            draft(name, try acl(text), add: users, roles: roles), by: caller)
    }

    private func draft(
        _ name: String? = nil, _ acl: AccessList? = nil, add: [Caller] = [],
        remove: [Caller] = [], roles: [RoleView] = []
    ) -> RoleDraft {
        var change = RelationChange<UserID>()
        change.added = Set(add.map(\.user.objectID))
        change.removed = Set(remove.map(\.user.objectID))
        var children = RelationChange<ObjectID>()
        children.added = Set(roles.map(\.role.objectID))
        return RoleDraft(name: name, acl: acl, users: change, roles: children)
    }

    @Test("are made by administrators and the master key alone, once by a name")
    func making() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        await expectRefusal(.forbidden) { try await make(house, "A", "{}", by: bob) }
        let made = try await make(house, "A", "{}", by: ada)
        #expect(made.role.name.description == "A")
        _ = try await make(house, "B", "{}", by: .master)
        for (name, code) in [("A", 137), ("", 139), ("a/b", 139), (" a", 139), ("*", 139)] {
            let refusal = await refusal { try await make(house, name, "{}", by: ada) }
            #expect(refusal?.code == code)
        }
        await expectRefusal(.wrongType) {
            try await house.authority.makeRole(draft("C"), by: ada)
        }
        #expect(try await house.audit("role.made").map(\.actor) == ["the master key", "ada"])
    }

    @Test("are read and written as their ACL says, also through roles within roles")
    func acls() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let eve = try await house.addUser("eve")
        let inner = try await make(house, "Inner", "{}", users: [bob], by: ada)
        let outer = try await make(
            house, "Outer", #"{"role:Outer":{"write":true},"\#(eve.user.objectID)":{"read":true}}"#,
            roles: [inner], by: ada)
        let open = try await make(house, "Open", #"{"*":{"read":true}}"#, by: ada)
        let names = { (caller: Caller?) in
            try await house.authority.roles(by: caller).map(\.role.name.description)
        }
        #expect(try await names(nil) == ["Open"])
        #expect(try await names(bob) == ["Open"])
        #expect(try await names(eve) == ["Open", "Outer"])
        #expect(try await names(ada) == ["Inner", "Open", "Outer"])
        #expect(try await names(.master) == ["Inner", "Open", "Outer"])
        for (caller, role) in [(eve, outer), (bob, open), (eve, inner)] {
            let id = role.role.objectID
            await expectRefusal(.notFound) {
                try await house.authority.updateRole(id, with: draft(), by: caller)
            }
            await expectRefusal(.notFound) {
                try await house.authority.deleteRole(id, by: caller)
            }
        }
        // Bob is in Outer by way of Inner, and may write it, though not read it.
        _ = try await house.authority.updateRole(
            outer.role.objectID, with: draft(add: [eve]), by: bob)
        try await house.authority.deleteRole(outer.role.objectID, by: eve)
    }

    @Test("show each caller himself among their users, and administrators all")
    func members() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let eve = try await house.addUser("eve")
        let role = try await make(
            house, "R", #"{"*":{"read":true}}"#, users: [ada, bob], by: ada).role
        for (caller, users) in [
            (ada, [ada, bob]), (bob, [bob]), (eve, []), (nil, []),
            (try await house.device(by: ada).caller, [ada]), (.master, [ada, bob]),
        ] as [(Caller?, [Caller])] {
            let view = try await house.authority.role(role.objectID, by: caller)
            #expect(view.users == Set(users.map(\.user.objectID)))
        }
    }

    @Test("keep their name, and only users and roles that are there")
    func changes() async throws {
        let house = try await House()
        let ada = try await house.login()
        let role = try await make(house, "R", "{}", users: [ada], by: ada)
        let id = role.role.objectID
        let renamed = await refusal {
            try await house.authority.updateRole(id, with: draft("S"), by: ada)
        }
        #expect(renamed?.code == ParseCode.immutableField.rawValue)
        var stranger = RelationChange<UserID>()
        stranger.added = try [#require(UserID("nobody"))]
        let unknown = RoleDraft(name: nil, acl: nil, users: stranger, roles: RelationChange())
        await expectRefusal(.notFound) {
            try await house.authority.updateRole(id, with: unknown, by: ada)
        }
        house.clock.advance(.seconds(5))
        let emptied = try await house.authority.updateRole(
            id, with: draft("R", remove: [ada], roles: [role]), by: ada)
        #expect(emptied.role.users.isEmpty)
        #expect(emptied.role.roles == [id])
        #expect(emptied.role.updatedAt - emptied.role.createdAt == .seconds(5))
        let parent = try await make(house, "P", "{}", roles: [role], by: ada)
        try await house.authority.deleteRole(id, by: ada)
        #expect(try await house.authority.role(parent.role.objectID, by: ada).role.roles.isEmpty)
        await expectRefusal(.notFound) { try await house.authority.role(id, by: ada) }
    }
}
