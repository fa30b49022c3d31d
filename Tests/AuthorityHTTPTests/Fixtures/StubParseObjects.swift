import AuthorityCore
import Sessions
import Wire

/// What the stub is asked of Parse's installations and roles. One role is there, which holds
/// alice and bob and may be read by all.
extension StubFrontend {
    func saveInstallation(
        _ draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> (saved: InstallationRecord, isNew: Bool) {
        try note("save \(json(draft.fields))\(at(draft.installation))"
            + "\(draft.claimed.map { " claimed \($0)" } ?? "") by \(name(caller))")
        return (try installation(draft.fields), draft.fields["again"] == nil)
    }

    func updateInstallation(
        _ id: ObjectID, with draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord {
        try note("update installation \(id) \(json(draft.fields)) by \(name(caller))")
        return try installation(draft.fields)
    }

    func installation(
        _ id: ObjectID, at claimed: InstallationID?, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord {
        try note("installation \(id)\(at(claimed)) by \(name(caller))")
        return try installation([:])
    }

    func installations(
        _ slice: ListSlice, by caller: Caller?
    ) async throws(AuthorityError) -> [InstallationRecord] {
        try note("installations by \(name(caller))")
        return slice.of([try installation(["deviceType": .string("ios")])])
    }

    func roles(by caller: Caller?) async throws(AuthorityError) -> [RoleView] {
        try note("roles by \(name(caller))")
        return [try role()]
    }

    func role(_ id: ObjectID, by caller: Caller?) async throws(AuthorityError) -> RoleView {
        try note("role \(id) by \(name(caller))")
        return try role()
    }

    func makeRole(
        _ draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView {
        try note("make role \(told(draft)) by \(name(caller))")
        return try role()
    }

    func updateRole(
        _ id: ObjectID, with draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView {
        try note("update role \(id) \(told(draft)) by \(name(caller))")
        return try role()
    }

    func deleteRole(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) {
        try note("delete role \(id) by \(name(caller))")
    }

    private func name(_ caller: Caller?) -> String { caller?.user.username ?? "nobody" }

    private func told(_ draft: RoleDraft) -> String {
        [
            draft.name, draft.acl?.json.text, draft.users.added.map { "+\($0)" }.sorted().joined(),
            draft.users.removed.map { "-\($0)" }.sorted().joined(),
            draft.roles.added.map { "+\($0)" }.sorted().joined(),
        ].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
    }

    private func installation(
        _ fields: [String: JSONValue]
    ) throws(AuthorityError) -> InstallationRecord {
        guard let name = InstallationID(Self.iid) else { throw .failed(layer: "stub", text: "id") }
        return InstallationRecord(
            objectID: try id("iNsT000001"), installation: name, owner: nil, fields: fields,
            createdAt: time(0), updatedAt: time(5))
    }

    private func role() throws(AuthorityError) -> RoleView {
        guard let name = RoleName("Gardeners"),
            let acl = AccessList(json: .object(["*": .object(["read": .bool(true)])]))
        else { throw .failed(layer: "stub", text: "role") }
        let users = Set([try userID("uSeR000001"), try userID("uSeR000002")])
        return RoleView(
            role: RoleRecord(
                objectID: try id("rOlE000001"), name: name, acl: acl, users: users, roles: [],
                createdAt: time(0), updatedAt: time(5)),
            users: users)
    }
}
